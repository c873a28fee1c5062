// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Lab is a running lab.
type Lab struct {
	Info Info

	// GoesOn says that the lab is one that ended earlier. Start sets it.
	GoesOn bool
	// Warning is what a user should know of how the lab runs on this machine; often empty. Start sets it.
	Warning string

	lifetime  io.WriteCloser // the lab ends when this is closed; nil for one that is detached
	temporary bool           // the state directory goes with the lab
}

// File descriptors of the daemon, in the order of exec.Cmd.ExtraFiles. The bastion's is there only with hosts.
const (
	httpFD = 3 + iota
	httpsFD
	controlFD
	readyFD
	dirFD // the state directory, and its lock
	bastionFD
)

// daemonConfig is what the daemon reads from its standard input. The lab ends with that input, unless
// its next word is true: then the lab is detached.
type daemonConfig struct {
	Config
	Info           Info         `json:"info"`
	Temporary      bool         `json:"temporary"` // the state directory goes with the lab
	APIKey         []byte       `json:"api_key"`   // public, PKIX
	ResourceToken  string       `json:"resource_token"`
	Authority      authorityPEM `json:"authority"`
	BastionHostKey []byte       `json:"bastion_host_key"` // private, PEM
	UserNamespace  bool         `json:"user_namespace"`
	NVIDIADevices  []string     `json:"nvidia_devices"`
	// GoesOn says that the region is one of an earlier lab, and OwnScenario that its scenario stays.
	GoesOn      bool `json:"goes_on"`
	OwnScenario bool `json:"own_scenario"`
}

// scarcity is what the lab is started with below any scenario.
func (c Config) scarcity() ocisim.Scenario {
	return ocisim.Scenario{Capacity: c.Capacity, Shortage: c.Shortage, KeepVacancies: c.KeepVacancies}
}

func (c Config) check() error {
	if c.Hosts != "" && c.Hosts != HostsLinux && c.Hosts != HostsNone {
		return fmt.Errorf("host mode %q is unknown; choose %q or %q", c.Hosts, HostsLinux, HostsNone)
	}
	if c.Init != "" && c.Init != InitPlain && c.Init != InitSystemd {
		return fmt.Errorf("init %q is unknown; choose %q or %q", c.Init, InitPlain, InitSystemd)
	}
	if c.GPUsPerHost < 0 {
		return fmt.Errorf("%d GPUs a host are no number", c.GPUsPerHost)
	}
	if !(c.TimeScale >= 0) || math.IsInf(c.TimeScale, 1) { // so that NaN is none
		return fmt.Errorf("time scale %g is no number above zero", c.TimeScale)
	}
	return nil
}

// Start starts a lab and returns when its API and its bastion answer; ctx bounds the start, not the lab.
// It fails with [ErrRunning] where a lab has the same state directory, and with [ErrUnsupported] where
// hosts are impossible or programs are missing, and with [ErrConfig] where cfg has a value that is none.
func Start(ctx context.Context, cfg Config) (*Lab, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("start the lab: %w: %w", ErrConfig, err)
	}
	lab := &Lab{temporary: cfg.Dir == ""}
	if err := makeDir(&cfg); err != nil {
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	if err := lab.start(ctx, cfg); err != nil {
		if lab.temporary {
			err = errors.Join(err, os.RemoveAll(cfg.Dir))
		}
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	return lab, nil
}

func makeDir(cfg *Config) error {
	if cfg.Dir == "" {
		dir, err := os.MkdirTemp("", "ocihpc-lab-")
		cfg.Dir = dir
		return err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return err
	}
	cfg.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && (int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0) {
		return fmt.Errorf("state directory %s must belong to you and be closed to others (chmod 700), for it keeps keys; name another one with --dir", dir)
	}
	return nil
}

func (l *Lab) start(ctx context.Context, cfg Config) error {
	dir, err := lockDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	old, err := l.before(ctx, cfg)
	if err != nil {
		return err
	}
	l.GoesOn = old != nil
	err = l.startLocked(ctx, cfg, dir, old)
	if err != nil && old == nil {
		err = errors.Join(err, removeState(ctx, cfg.Dir))
	}
	return err
}

// before gives the lab that goes on; nil for a new one, whose state directory is then clear.
func (l *Lab) before(ctx context.Context, cfg Config) (*daemonConfig, error) {
	if !cfg.Fresh {
		if old, err := readState(cfg.Dir); old != nil || err != nil {
			return old, err
		}
	}
	return nil, removeState(ctx, cfg.Dir)
}

func (l *Lab) startLocked(ctx context.Context, cfg Config, dir *os.File, old *daemonConfig) error {
	ownScenario := old != nil && !cfg.saysScenario()
	if old != nil {
		var err error
		if cfg, err = cfg.over(old.Config); err != nil {
			return err
		}
	}
	cfg.Hosts, cfg.Init, cfg.TimeScale = cmp.Or(cfg.Hosts, HostsLinux), cmp.Or(cfg.Init, InitPlain), cmp.Or(cfg.TimeScale, DefaultTimeScale)
	if cfg.Hosts == HostsLinux {
		if err := checkPrograms(hostinit.Path); err != nil {
			return err
		}
		if err := checkInit(cfg.Init); err != nil {
			return err
		}
	}
	// Whoever finds the new control socket takes this one's description, once that is written.
	if err := os.Remove(filepath.Join(cfg.Dir, infoFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the description of the lab before: %w", err)
	}
	sockets, err := listen(ctx, cfg, old)
	defer sockets.close()
	if err != nil {
		return err
	}
	daemon := old
	if daemon == nil {
		if daemon, err = describe(cfg); err != nil {
			return err
		}
	}
	daemon.Config, daemon.Temporary, daemon.GoesOn, daemon.OwnScenario = cfg, l.temporary, old != nil, ownScenario
	daemon.Info.reachedBy(sockets)
	if cfg.Hosts == HostsLinux {
		daemon.NVIDIADevices = nvidiaDevices(ctx)
	}
	if err := daemon.writeState(); err != nil {
		return err
	}
	l.Info = daemon.Info
	log, err := openLog(filepath.Join(cfg.Dir, logFile), old != nil)
	if err != nil {
		return fmt.Errorf("open the lab's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	began, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("find the end of the lab's log: %w", err)
	}
	ready, readyWriter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = ready.Close() }()
	files := append([]*os.File{sockets.http, sockets.https, sockets.control, readyWriter, dir}, sockets.bastion...)
	process, err := launch(ctx, cfg, files, log)
	_ = readyWriter.Close()
	if err != nil {
		return err
	}
	l.Info.PID, daemon.UserNamespace = process.pid, process.userNamespace
	l.lifetime = process.stdin
	if err := json.NewEncoder(process.stdin).Encode(daemon); err != nil { // #nosec G117 -- over a pipe, to itself
		err = fmt.Errorf("send the lab its configuration: %w", err)
		return errors.Join(err, process.kill())
	}
	if l.Warning, err = waitReady(ctx, ready, log.Name(), began); err != nil {
		if old != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w\nIts state stays in %s. If that is damaged, `ocihpc-lab up --fresh` discards it", err, cfg.Dir)
		}
		return errors.Join(err, process.kill())
	}
	err = l.Info.write()
	if err == nil && cfg.Detached {
		err = l.detach()
	}
	if err != nil {
		return errors.Join(err, process.kill())
	}
	return nil
}

// detach lets the lab outlive this process. Until then, whatever ends this process ends the lab.
func (l *Lab) detach() error {
	err := errors.Join(json.NewEncoder(l.lifetime).Encode(true), l.lifetime.Close())
	l.lifetime = nil
	if err != nil {
		return fmt.Errorf("detach the lab: %w", err)
	}
	return nil
}

// lockDir takes the state directory for one lab: whoever holds it open holds the lock.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.Open(dir) // #nosec G304 -- the caller's directory
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { // #nosec G115 -- descriptors are small
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w in %s; stop it with `ocihpc-lab down`, or give this one another --dir", ErrRunning, dir)
		}
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	return lock, nil
}

// describe makes the region's identities, writes the files for clients, and gives what the daemon needs.
func describe(cfg Config) (*daemonConfig, error) {
	info := Info{
		Dir: cfg.Dir, Region: regionName, AvailabilityDomain: availabilityDomain,
		TenancyOCID: newOCID("tenancy"), UserOCID: newOCID("user"), CompartmentID: newOCID("compartment"),
		VCNID: newOCID("vcn"), SubnetID: newOCID("subnet"), PublicSubnetID: newOCID("subnet"), ImageID: newOCID("image"),
		SSHPrivateKeyPath: filepath.Join(cfg.Dir, sshKeyFile),
	}
	daemon := &daemonConfig{}
	apiKey, err := writeAPIKey(&info)
	if err != nil {
		return daemon, err
	}
	if daemon.APIKey, err = x509.MarshalPKIXPublicKey(&apiKey.PublicKey); err != nil {
		return daemon, fmt.Errorf("encode the API key: %w", err)
	}
	if daemon.ResourceToken, err = writeResourcePrincipal(&info, apiKey); err != nil {
		return daemon, err
	}
	if daemon.Authority, err = writeCA(&info); err != nil {
		return daemon, err
	}
	userKey, err := labhost.NewKey()
	if err != nil {
		return daemon, err
	}
	info.SSHAuthorizedKeys = userKey.AuthorizedKey()
	if err := writeFile(info.SSHPrivateKeyPath, userKey.PrivatePEM); err != nil {
		return daemon, err
	}
	if err := writeFile(info.SSHPrivateKeyPath+".pub", []byte(info.SSHAuthorizedKeys+"\n")); err != nil {
		return daemon, err
	}
	if cfg.Hosts == HostsLinux {
		hostKey, err := labhost.NewKey()
		if err != nil {
			return daemon, err
		}
		daemon.BastionHostKey = hostKey.PrivatePEM
		info.BastionHost, info.BastionUser = "127.0.0.1", "opc"
		info.BastionHostKey = hostKey.AuthorizedKey()
	}
	daemon.Info = info
	return daemon, nil
}

// readyMessage is the daemon's one word on how its start went.
type readyMessage struct {
	Error   string `json:"error"`
	Warning string `json:"warning"`
}

// waitReady waits for the daemon's word; log is its log, from an offset on.
func waitReady(ctx context.Context, pipe *os.File, log string, from int64) (warning string, err error) {
	stop := context.AfterFunc(ctx, func() { _ = pipe.Close() })
	defer stop()
	var message readyMessage
	if err := json.NewDecoder(pipe).Decode(&message); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("the lab ended while it started: %s", complaint(log, from))
	}
	if message.Error != "" {
		return "", errors.New(message.Error)
	}
	return message.Warning, nil
}

// crash is how the Go runtime begins to tell why a process ends.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error): .*$`)

// complaint is what a process that ended has logged last, from an offset of its log on. Of a crash it is
// the reason alone.
func complaint(path string, from int64) string {
	text, err := os.ReadFile(path) // #nosec G304 -- the lab's own log
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text[min(from, int64(len(text))):])
	if reason := crash.Find(text); reason != nil {
		return fmt.Sprintf("%s (see %s)", reason, path)
	}
	lines := bytes.Split(text, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}

// nvidiaDevices of a machine whose GPUs work; none where nvidia-smi does not list any.
func nvidiaDevices(ctx context.Context) []string {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		return nil
	}
	output, err := exec.CommandContext(ctx, "nvidia-smi", "-L").Output()
	if err != nil || !strings.HasPrefix(string(output), "GPU ") {
		return nil
	}
	devices, err := filepath.Glob("/dev/nvidia*")
	if err != nil {
		return nil
	}
	caps, err := filepath.Glob("/dev/nvidia-caps/*")
	if err != nil {
		return nil
	}
	var files []string
	for _, device := range append(devices, caps...) {
		if info, err := os.Stat(device); err == nil && !info.IsDir() {
			files = append(files, device)
		}
	}
	return files
}
