// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// host is one running host.
type host struct {
	id, hostname string
	address      netip.Prefix
	gateway      netip.Addr
	mac          string
	gpus         bool
	nvidia       []string // the machine's real devices that it has
	cloudInit    bool
	files        []file
	instance     *ocisim.Host // nil for the bastion

	number int
	dir    string
	veth   string

	mu      sync.Mutex
	process *os.Process   // nil until started
	ended   chan struct{} // closed when the process and all of the host's have ended
	stopped bool
	nvme    localNVMe
}

// file of a host that differs from the layers'.
type file struct {
	path  string
	text  []byte
	mode  fs.FileMode
	owner int
}

// devices of the machine that every host has; those that the machine lacks are left out.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/net/tun", "/dev/fuse",
}

// start returns when the host's sshd answers.
func (host *host) start(ctx context.Context, h *Hosts) error {
	host.dir, host.veth = h.dir(host), fmt.Sprintf("v%d", host.number)
	cfg, err := host.prepare(h)
	if err != nil {
		return err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: host.execSocket(), Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { _ = listener.Close() }()
	listener.SetUnlinkOnClose(false) // the host goes on listening
	execFile, err := listener.File()
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { _ = execFile.Close() }()
	report, reportWriter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = report.Close() }()
	stdin, err := host.launchAlone(h, reportWriter, execFile)
	_ = reportWriter.Close()
	if err != nil {
		return err
	}
	defer func() { _ = stdin.Close() }()
	if err := h.network.attach(host); err != nil {
		return err
	}
	if err := json.NewEncoder(stdin).Encode(cfg); err != nil {
		return fmt.Errorf("send the host's configuration: %w", err)
	}
	up, err := readReport(ctx, report)
	host.mu.Lock()
	defer host.mu.Unlock()
	host.nvme.report(up)
	return err
}

// launchAlone starts PID 1 of the host in its cgroups. One host at a time: the kernel moves a process to a cgroup
// only while none is being made, and making one with a network namespace takes long.
func (host *host) launchAlone(h *Hosts, report, execFile *os.File) (io.WriteCloser, error) {
	h.launching.Lock()
	defer h.launching.Unlock()
	stdin, err := host.launch(h.ctx, report, execFile)
	if err != nil || h.cgroups == nil {
		return stdin, err
	}
	if err := h.cgroups.add(host.number, host.process.Pid); err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	return stdin, nil
}

// launch starts PID 1 of the host in namespaces of its own.
func (host *host) launch(ctx context.Context, report, execFile *os.File) (io.WriteCloser, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{"ocihpc-lab-host", host.hostname}
	cmd.Env = []string{hostinit.StageVariable + "=" + hostinit.StageHost, "PATH=" + hostinit.Path, "HOME=/root", "LANG=C.UTF-8", "GOMAXPROCS=1"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{report, execFile} // hostinit.ReportFD, hostinit.ExecFD
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if host.stopped {
		return nil, errors.New("the host was removed while it booted")
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the host's first process: %w", err)
	}
	host.process, host.ended = cmd.Process, make(chan struct{})
	go func() {
		_ = cmd.Wait() // A host ends by being killed.
		close(host.ended)
	}()
	return stdin, nil
}

// readReport waits for the host to say that it is up.
func readReport(ctx context.Context, pipe *os.File) (hostinit.Report, error) {
	stop := context.AfterFunc(ctx, func() { _ = pipe.Close() })
	defer stop()
	var report hostinit.Report
	if err := json.NewDecoder(pipe).Decode(&report); err != nil {
		if ctx.Err() != nil {
			return report, fmt.Errorf("wait for the host: %w", ctx.Err())
		}
		return report, errors.New("the host ended while it booted; the lab's log says why")
	}
	if report.Error != "" {
		return report, errors.New(report.Error)
	}
	return report, nil
}

// stop kills PID 1 of the host, and by that everything on it, and frees what the host had.
func (host *host) stop(h *Hosts) error {
	host.mu.Lock()
	host.stopped = true
	process := host.process
	host.mu.Unlock()
	if process != nil {
		if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end its processes: %w", err)
		}
		<-host.ended
		if err := h.network.detach(host); err != nil {
			return err
		}
	}
	if h.cgroups != nil {
		if err := h.cgroups.drop(host.number); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(host.dir); err != nil {
		return fmt.Errorf("remove its files: %w", err)
	}
	return nil
}

func (host *host) execSocket() string { return filepath.Join(host.dir, "exec.sock") }

// prepare makes the host's directories and files.
func (host *host) prepare(h *Hosts) (hostinit.Config, error) {
	cfg := hostinit.Config{
		Hostname: host.hostname, Root: filepath.Join(host.dir, "root"), UserNamespace: h.cfg.UserNamespace,
		Address: host.address, Gateway: host.gateway, CloudInit: host.cloudInit, Systemd: h.cfg.Systemd,
		NoSSH: host.instance != nil && host.instance.Effect == ocisim.NodeNoSSH,
	}
	for _, device := range slices.Concat(devices, host.nvidia) {
		if _, err := os.Stat(device); err == nil {
			cfg.Devices = append(cfg.Devices, device)
		}
	}
	if err := os.MkdirAll(cfg.Root, 0o755); err != nil {
		return cfg, fmt.Errorf("make the host's directory: %w", err)
	}
	disk, err := host.disk(h)
	if err != nil {
		return cfg, err
	}
	if h.cgroups != nil {
		cfg.Cgroups = h.cgroups.of(host.number)
	}
	if cfg.NVMe, err = host.nvmeFiles(h); err != nil {
		return cfg, err
	}
	for _, target := range slices.Concat([]string{""}, layeredDirs, machineDirs) {
		overlay, err := host.overlay(h.layers, disk, target)
		if err != nil {
			return cfg, fmt.Errorf("make the host's directory: %w", err)
		}
		if overlay != nil {
			cfg.Overlays = append(cfg.Overlays, *overlay)
		}
	}
	return cfg, nil
}

// disk finds the host's disk, or makes it with the host's own files, all at once: one that was not finished
// when the lab was killed is made anew.
func (host *host) disk(h *Hosts) (string, error) {
	disk := h.disk(host.id)
	if _, err := os.Stat(disk); !errors.Is(err, fs.ErrNotExist) {
		return disk, err
	}
	fresh := disk + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return "", fmt.Errorf("remove an unfinished disk: %w", err)
	}
	if err := makeSkeleton(filepath.Join(ownDir(fresh, ""), "upper")); err != nil {
		return "", fmt.Errorf("make the host's disk: %w", err)
	}
	for _, file := range host.files {
		if err := host.write(fresh, file); err != nil {
			return "", fmt.Errorf("write %s: %w", file.path, err)
		}
	}
	if err := os.Rename(fresh, disk); err != nil {
		return "", fmt.Errorf("make the host's disk: %w", err)
	}
	return disk, nil
}

// ownDir is the part of a disk that lies over one of the template's or the machine's directories, or is the
// root.
func ownDir(disk, target string) string { return filepath.Join(disk, target+".d") }

// overlay makes the directories of one overlay: the root (target ""), which is the host's own alone, a
// directory of the template, or one of the machine's. It gives nil where the machine has a link or nothing.
func (host *host) overlay(l layers, disk, target string) (*hostinit.Overlay, error) {
	if info, err := os.Lstat("/" + target); err != nil || !info.IsDir() {
		return nil, nil //nolint:nilnil,nilerr // nothing to mount is no error
	}
	own := ownDir(disk, target)
	overlay := &hostinit.Overlay{Target: target, Upper: filepath.Join(own, "upper"), Work: filepath.Join(own, "work")}
	if target != "" {
		overlay.Lower = host.lower(l, target)
	}
	for _, dir := range []string{overlay.Upper, overlay.Work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return overlay, nil
}

// lower gives the trees below a host's own files, topmost first.
func (host *host) lower(l layers, target string) []string {
	trees := []string{l.base}
	if host.gpus {
		trees = []string{l.gpu, l.base}
	}
	var lower []string
	for _, tree := range trees {
		if _, err := os.Stat(filepath.Join(tree, target)); err == nil {
			lower = append(lower, filepath.Join(tree, target))
		}
	}
	if slices.Contains(machineDirs, target) {
		lower = append(lower, "/"+target)
	}
	return lower
}

// write puts a file onto the host's disk; directories that it needs belong to the file's owner below the
// owner's home, to root elsewhere.
func (host *host) write(disk string, f file) error {
	upper, relative := filepath.Join(ownDir(disk, ""), "upper"), f.path
	for _, dir := range slices.Concat(layeredDirs, machineDirs) {
		if below, found := strings.CutPrefix(f.path, "/"+dir+"/"); found {
			upper, relative = filepath.Join(ownDir(disk, dir), "upper"), below
		}
	}
	target := filepath.Join(upper, relative)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if f.owner == opcID {
		for dir := filepath.Dir(target); dir != filepath.Join(upper, "home"); dir = filepath.Dir(dir) {
			if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, f.owner, f.owner)); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(target, f.text, f.mode); err != nil {
		return err
	}
	return os.Chown(target, f.owner, f.owner)
}
