// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func init() {
	stage := os.Getenv(hostinit.StageVariable)
	if next, waits := strings.CutPrefix(stage, inUserNamespace); waits {
		fmt.Fprintln(os.Stderr, becomeRoot(next))
		os.Exit(1)
	}
	switch stage {
	case stageRemove:
		if err := os.RemoveAll(os.Args[1]); err != nil { // #nosec G703 -- the starter, which is this program, says what
			os.Exit(1)
		}
		os.Exit(0)
	case stageDaemon:
		if err := runDaemon(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0) // The kernel takes the hosts away with their namespaces.
	}
}

// becomeRoot waits for the IDs of the user namespace and executes the next stage, which then has root's
// capabilities. It returns only an error.
func becomeRoot(next string) error {
	if _, err := syscall.Read(0, make([]byte, 1)); err != nil {
		return fmt.Errorf("wait for the user namespace: %w", err)
	}
	env := []string{hostinit.StageVariable + "=" + next, "PATH=" + hostinit.Path, "HOME=/", "LANG=C.UTF-8"}
	return fmt.Errorf("enter the user namespace: %w", syscall.Exec("/proc/self/exe", os.Args, env)) // #nosec G204 G702 -- itself
}

// The region's network. The bastion has the last address of its subnet, which the API gives out last.
var (
	vcnCIDR       = netip.MustParsePrefix("10.0.0.0/16")
	publicCIDR    = netip.MustParsePrefix("10.0.0.0/24")
	privateCIDR   = netip.MustParsePrefix("10.0.64.0/18") // room for the largest clusters
	publicGateway = netip.MustParseAddr("10.0.0.1")
	bastionIP     = netip.MustParseAddr("10.0.0.254")
)

// daemon is the lab's process.
type daemon struct {
	cfg    daemonConfig
	log    *slog.Logger
	region *ocisim.Server
	hosts  *labhost.Hosts // nil without hosts
	stop   context.CancelFunc
	// keep says that the state outlives the lab.
	keep atomic.Bool
	// disks is where hosts keep what they write; empty means in memory. warning says why.
	disks, warning string
}

// runDaemon is the life of a lab.
func runDaemon() error {
	for fd := httpFD; fd <= bastionFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	d := &daemon{log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})), stop: stop}
	stdin := json.NewDecoder(os.Stdin)
	if err := stdin.Decode(&d.cfg); err != nil {
		return fmt.Errorf("read the lab's configuration: %w", err)
	}
	defer d.end()
	d.keep.Store(d.cfg.GoesOn) // until it is up
	go d.watch(stdin)
	began := time.Now()
	err := d.start(ctx)
	if report := d.reportReady(err); report != nil {
		return errors.Join(err, report)
	}
	if err != nil {
		return err
	}
	d.log.Info("the lab is up", "api", d.cfg.Info.Endpoint, "hosts", d.cfg.Hosts, "took", time.Since(began).Round(time.Millisecond))
	<-ctx.Done()
	d.log.Info("the lab ends")
	return nil
}

// watch ends the lab with whoever wanted it, or by a signal. A signal to a detached lab is the machine's
// end, or a service manager's stop: the lab can go on after it.
func (d *daemon) watch(stdin *json.Decoder) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	var detached atomic.Bool
	go func() {
		<-signals
		if detached.Load() {
			d.keep.Store(true)
		}
		d.stop()
	}()
	var word bool
	if err := stdin.Decode(&word); err != nil || !word {
		d.keep.Store(d.cfg.GoesOn && d.cfg.Detached) // An interrupted start takes nothing away.
		d.stop()                                     // Whoever wanted the lab is gone.
		return
	}
	detached.Store(true)
}

// dirPath is the state directory as the daemon sees it: it has a /tmp of its own.
var dirPath = fmt.Sprintf("/proc/self/fd/%d", dirFD)

// end takes the lab's state away, unless it is kept: nobody may be left who does.
func (d *daemon) end() {
	if d.keep.Load() {
		return
	}
	var err error
	if d.region != nil {
		err = d.region.Close()
	}
	if d.hosts != nil {
		err = errors.Join(err, d.hosts.Close()) // They could write while their disks are removed.
	}
	if d.cfg.Temporary {
		err = errors.Join(err, os.RemoveAll(dirPath+"/../"+filepath.Base(d.cfg.Dir)))
	} else {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dirPath, disksDir)), removeFiles(dirPath))
	}
	if err != nil {
		d.log.Error("files are left", "error", err)
	}
}

// reportReady tells the starter how the start went.
func (d *daemon) reportReady(start error) error {
	pipe := os.NewFile(readyFD, "ready")
	message := readyMessage{Warning: d.warning}
	if start != nil {
		message.Error = start.Error()
	}
	if err := errors.Join(json.NewEncoder(pipe).Encode(message), pipe.Close()); err != nil {
		return fmt.Errorf("report the start: %w", err)
	}
	return nil
}

func (d *daemon) start(ctx context.Context) error {
	if d.cfg.Hosts == HostsLinux {
		if err := d.startHosts(ctx); err != nil {
			return err
		}
	}
	if err := d.startAPI(ctx); err != nil {
		return err
	}
	control, err := net.FileListener(os.NewFile(controlFD, "control"))
	if err != nil {
		return fmt.Errorf("take over the control socket: %w", err)
	}
	go d.serveControl(ctx, control)
	return nil
}

// hostsDir is where the hosts' files are: on a tmpfs that is mounted for the lab alone.
const hostsDir = "/tmp"

func (d *daemon) startHosts(ctx context.Context) error {
	if err := d.isolateMounts(); err != nil {
		return err
	}
	var err error
	d.hosts, err = labhost.New(ctx, labhost.Config{
		Dir: hostsDir, Disks: d.disks, UserNamespace: d.cfg.UserNamespace, NVIDIADevices: d.cfg.NVIDIADevices,
		GPUsPerHost: d.cfg.GPUsPerHost,
		Without:     d.cfg.Without, Systemd: d.cfg.Init == InitSystemd,
	})
	if err != nil {
		return err
	}
	if err := d.hosts.NoCgroups(); err != nil {
		d.log.Warn("no container runs on hosts, for they have no control groups of their own", "error", err)
	}
	if err := d.hosts.Unprotected(); err != nil {
		d.log.Warn("security lists, network security groups and routes have no effect on hosts", "error", err)
	}
	hostKey, err := labhost.ParseKey(d.cfg.BastionHostKey)
	if err != nil {
		return err
	}
	err = d.hosts.BootBastion(ctx, labhost.Bastion{
		Hostname: labhost.BastionID, Address: netip.PrefixFrom(bastionIP, publicCIDR.Bits()), Gateway: publicGateway,
		AuthorizedKey: d.cfg.Info.SSHAuthorizedKeys, HostKey: hostKey,
	})
	if err != nil {
		return err
	}
	clients, err := net.FileListener(os.NewFile(bastionFD, "bastion"))
	if err != nil {
		return fmt.Errorf("take over the bastion's port: %w", err)
	}
	go d.forward(ctx, clients, netip.AddrPortFrom(bastionIP, 22).String())
	return nil
}

// isolateMounts gives the lab a /proc that shows its processes and a /tmp of its own, in which the disks of
// the state directory are.
func (d *daemon) isolateMounts() error {
	unix.Umask(0o022)
	disks, err := openDisks(d.cfg)
	if err != nil {
		return err
	}
	if disks != nil {
		defer func() { _ = disks.Close() }()
	}
	if err := mountAll(d.cfg.UserNamespace); err != nil {
		return err
	}
	if disks == nil {
		return nil
	}
	d.disks = filepath.Join(hostsDir, disksDir)
	if err := os.Mkdir(d.disks, 0o700); err != nil {
		return fmt.Errorf("show the hosts' disks: %w", err)
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", disks.Fd()), d.disks, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show the hosts' disks: %w", err)
	}
	if err := labhost.CheckDisks(d.disks, d.cfg.UserNamespace); err != nil {
		d.disks, d.warning = filepath.Join(hostsDir, "memory"), fmt.Sprintf("The hosts' disks are in memory and end with the lab; %s cannot keep them: %v.", d.cfg.Dir, err)
		d.log.Warn("the hosts' disks are in memory, and end with the lab", "error", err)
	}
	return nil
}

// openDisks opens the directory of the disks before a mount hides it; nil for a temporary lab.
func openDisks(cfg daemonConfig) (*os.File, error) {
	if cfg.Temporary {
		return nil, nil //nolint:nilnil // none is no error
	}
	path := filepath.Join(cfg.Dir, disksDir)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the hosts' disks: %w", err)
	}
	disks, err := os.Open(path) // #nosec G304 -- in the lab's own directory
	if err != nil {
		return nil, fmt.Errorf("open the hosts' disks: %w", err)
	}
	return disks, nil
}

func mountAll(userNamespace bool) error {
	for _, mount := range []struct {
		kind, target string
		flags        uintptr
		options      string
	}{
		{"", "/", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"tmpfs", hostsDir, unix.MS_NODEV, "mode=755"},
	} {
		if err := unix.Mount(mount.kind, mount.target, mount.kind, mount.flags, mount.options); err != nil {
			err = fmt.Errorf("mount %s: %w", mount.target, err)
			if userNamespace {
				return explainUserNamespaces(err)
			}
			return err
		}
	}
	return nil
}

func (d *daemon) startAPI(ctx context.Context) error {
	apiKey, err := x509.ParsePKIXPublicKey(d.cfg.APIKey)
	if err != nil {
		return fmt.Errorf("read the API key: %w", err)
	}
	rsaKey, ok := apiKey.(*rsa.PublicKey)
	if !ok {
		return errors.New("the API key is no RSA key")
	}
	info := d.cfg.Info
	cfg := ocisim.Config{
		Region: info.Region, TenancyID: info.TenancyOCID, CompartmentID: info.CompartmentID,
		Users:               []ocisim.User{{ID: info.UserOCID, Key: rsaKey}},
		AvailabilityDomains: []string{info.AvailabilityDomain},
		VCN:                 ocisim.VCN{ID: info.VCNID, CIDR: vcnCIDR, DisplayName: "lab", DNSLabel: "lab"},
		Subnets: []ocisim.Subnet{
			{ID: info.SubnetID, CIDR: privateCIDR, DisplayName: "private", DNSLabel: "private"},
			{ID: info.PublicSubnetID, CIDR: publicCIDR, DisplayName: "public", DNSLabel: "public", Public: true},
		},
		Bastion:  &ocisim.Bastion{ID: labhost.BastionID, SubnetID: info.PublicSubnetID, Address: bastionIP},
		Images:   images(info.ImageID),
		Scenario: d.cfg.scenario(), TimeScale: d.cfg.TimeScale, Logger: d.log,
	}
	if d.cfg.ResourceToken != "" { // regions of earlier versions have none
		cfg.Tokens = map[string]ocisim.User{d.cfg.ResourceToken: {ID: info.ResourceOCID, Key: rsaKey}}
	}
	if !d.cfg.Temporary {
		cfg.Store = filepath.Join(dirPath, regionFile)
	}
	if cfg.OnRequest, err = openRequestLog(dirPath, d.cfg.GoesOn); err != nil {
		return err
	}
	if d.hosts != nil {
		cfg.Hosts = d.hosts
	}
	if d.region, err = ocisim.New(cfg); err != nil {
		return err
	}
	if err := d.region.HostsRestored(ctx); err != nil {
		return err
	}
	return d.serveAPI(ctx)
}

func (d *daemon) serveAPI(ctx context.Context) error {
	authority, err := d.cfg.Authority.parse()
	if err != nil {
		return err
	}
	plain, err := net.FileListener(os.NewFile(httpFD, "http"))
	if err != nil {
		return fmt.Errorf("take over the http port: %w", err)
	}
	encrypted, err := net.FileListener(os.NewFile(httpsFD, "https"))
	if err != nil {
		return fmt.Errorf("take over the https port: %w", err)
	}
	proxy := newProxy(d.region, authority, d.log)
	server := &http.Server{
		Protocols: new(http.Protocols), Handler: proxy, ReadHeaderTimeout: 30 * time.Second, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{GetCertificate: authority.endpoint, MinVersion: tls.VersionTLS12},
	}
	server.Protocols.SetHTTP1(true)                        // CONNECT, and connections that a scenario resets, need it.
	go func() { _ = server.Serve(plain) }()                // They end by being closed.
	go func() { _ = server.ServeTLS(encrypted, "", "") }() //
	go func() { _ = server.Serve(proxy.tunnels) }()        //
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}

// dialTimeout is how long a client waits for a bastion that does not answer.
const dialTimeout = 30 * time.Second

// forward joins each client of a listener with an address in the lab's network.
func (d *daemon) forward(ctx context.Context, clients net.Listener, address string) {
	for {
		client, err := clients.Accept()
		if err != nil {
			return
		}
		go func() {
			// A client is on the internet, as the lab's network sees it.
			dialer := net.Dialer{Timeout: dialTimeout, LocalAddr: &net.TCPAddr{IP: ocisim.Internet.AsSlice()}}
			server, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				d.log.Warn("the bastion cannot be reached; do the security lists and the routes of its subnet let SSH in?", "error", err)
				_ = client.Close()
				return
			}
			join(client.(*net.TCPConn), server.(*net.TCPConn))
		}()
	}
}

// join copies both directions of a connection, hands the end of each on, and closes both sides at last.
func join(a, b *net.TCPConn) {
	closeBoth := func() {
		_ = a.Close()
		_ = b.Close()
	}
	defer closeBoth()
	pipe := func(to, from *net.TCPConn) {
		if _, err := io.Copy(to, from); err != nil {
			closeBoth() // The other direction ends, too.
			return
		}
		_ = to.CloseWrite()
	}
	var directions sync.WaitGroup
	directions.Go(func() { pipe(a, b) })
	directions.Go(func() { pipe(b, a) })
	directions.Wait()
}
