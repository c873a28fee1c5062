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
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func init() {
	switch os.Getenv(hostinit.StageVariable) {
	case stageUserNamespace:
		fmt.Fprintln(os.Stderr, becomeRoot())
		os.Exit(1)
	case stageDaemon:
		if err := runDaemon(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0) // The kernel takes the hosts away with their namespaces.
	}
}

// becomeRoot waits for the IDs of the user namespace and executes the daemon, which then has root's
// capabilities. It returns only an error.
func becomeRoot() error {
	if _, err := syscall.Read(0, make([]byte, 1)); err != nil {
		return fmt.Errorf("wait for the user namespace: %w", err)
	}
	env := []string{hostinit.StageVariable + "=" + stageDaemon, "PATH=" + hostinit.Path, "HOME=/", "LANG=C.UTF-8"}
	return fmt.Errorf("enter the user namespace: %w", syscall.Exec("/proc/self/exe", os.Args, env)) // #nosec G204 G702 -- itself
}

// The region's network. The bastion has the last address of its subnet, which the API gives out last.
var (
	vcnCIDR       = netip.MustParsePrefix("10.0.0.0/16")
	publicCIDR    = netip.MustParsePrefix("10.0.0.0/24")
	privateCIDR   = netip.MustParsePrefix("10.0.1.0/24")
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
}

// runDaemon is the life of a lab.
func runDaemon() error {
	for fd := httpFD; fd <= bastionFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	d := &daemon{log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})), stop: stop}
	stdin := json.NewDecoder(os.Stdin)
	if err := stdin.Decode(&d.cfg); err != nil {
		return fmt.Errorf("read the lab's configuration: %w", err)
	}
	defer d.removeFiles()
	go func() {
		var detached bool
		if err := stdin.Decode(&detached); err != nil || !detached {
			stop() // Whoever wanted the lab is gone.
		}
	}()
	began := time.Now()
	err := d.start(ctx)
	if report := reportReady(err); report != nil {
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

// removeFiles takes the files for clients away, for nobody may be left who does. The daemon sees the
// state directory only through its descriptor: it has a /tmp of its own.
func (d *daemon) removeFiles() {
	dir := fmt.Sprintf("/proc/self/fd/%d", dirFD)
	var err error
	if d.cfg.Temporary {
		err = os.RemoveAll(dir + "/../" + filepath.Base(d.cfg.Dir))
	} else {
		err = removeFiles(dir)
	}
	if err != nil {
		d.log.Error("files for clients are left", "error", err)
	}
}

// reportReady tells the starter how the start went.
func reportReady(start error) error {
	pipe := os.NewFile(readyFD, "ready")
	var message readyMessage
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
	if err := isolateMounts(d.cfg.UserNamespace); err != nil {
		return err
	}
	var err error
	d.hosts, err = labhost.New(ctx, labhost.Config{
		Dir: hostsDir, UserNamespace: d.cfg.UserNamespace, NVIDIADevices: d.cfg.NVIDIADevices,
	})
	if err != nil {
		return err
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

// isolateMounts gives the lab a /proc that shows its processes and a /tmp of its own.
func isolateMounts(userNamespace bool) error {
	unix.Umask(0o022)
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
		Scenario: d.cfg.Scenario.Over(d.cfg.scarcity()), TimeScale: d.cfg.TimeScale, Logger: d.log,
	}
	if cfg.OnRequest, err = openRequestLog(fmt.Sprintf("/proc/self/fd/%d", dirFD)); err != nil {
		return err
	}
	if d.hosts != nil {
		cfg.Hosts = d.hosts
	}
	if d.region, err = ocisim.New(cfg); err != nil {
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
