// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// controlRequest is one request on the control socket. Exec brings three file descriptors.
type controlRequest struct {
	Operation string           `json:"operation"`
	Host      string           `json:"host,omitempty"`
	Argv      []string         `json:"argv,omitempty"`
	Scenario  *ocisim.Scenario `json:"scenario,omitempty"`
	Advance   time.Duration    `json:"advance,omitempty"` // of the clock
	Keep      bool             `json:"keep,omitempty"`    // the state of a lab that stops
	Port      uint16           `json:"port,omitempty"`    // to listen at
	Fault     *Fault           `json:"fault,omitempty"`   // of the host; nil ends its faults
}

// Operations on the control socket.
const (
	operationStatus   = "status"
	operationExec     = "exec"
	operationScenario = "scenario"
	operationClock    = "clock"
	operationListen   = "listen"
	operationFault    = "fault"
	operationStop     = "stop"
)

// serveControl answers the owner of the state directory.
func (d *daemon) serveControl(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if err := d.control(ctx, conn.(*net.UnixConn)); err != nil {
				d.log.Warn("control request failed", "error", err)
			}
		}()
	}
}

func (d *daemon) control(ctx context.Context, conn *net.UnixConn) error {
	var request controlRequest
	files, err := hostinit.ReadWithFiles(conn, &request)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	if errors.Is(err, io.EOF) {
		return nil // [Open] only looks whether somebody listens.
	}
	if err != nil {
		return err
	}
	switch request.Operation {
	case operationStatus:
		return json.NewEncoder(conn).Encode(d.status())
	case operationExec:
		return json.NewEncoder(conn).Encode(d.exec(ctx, conn, request, files))
	case operationScenario:
		return json.NewEncoder(conn).Encode(d.setScenario(request.Scenario))
	case operationClock:
		return json.NewEncoder(conn).Encode(d.clock(request.Advance))
	case operationFault:
		return json.NewEncoder(conn).Encode(d.fault(request))
	case operationListen:
		return d.listen(ctx, conn, request.Port)
	case operationStop:
		d.keep.Store(request.Keep)
		d.stop()
		return nil
	}
	return fmt.Errorf("operation %q is unknown", request.Operation)
}

// exec runs a command on a host; an asker who hangs up ends it.
func (d *daemon) exec(ctx context.Context, conn net.Conn, request controlRequest, files []*os.File) hostinit.ExecReply {
	if d.hosts == nil || len(files) != 3 {
		return hostinit.ExecReply{Error: labhost.ErrNoHost.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // An asker sends nothing more.
		cancel()
	}()
	status, err := d.hosts.Exec(ctx, request.Host, request.Argv, files[0], files[1], files[2])
	reply := hostinit.ExecReply{Status: status}
	if err != nil {
		reply.Error = err.Error()
	}
	return reply
}

// scenarioReply says why a scenario was refused.
type scenarioReply struct {
	Error string `json:"error"`
}

func (d *daemon) setScenario(c *ocisim.Scenario) scenarioReply {
	if c == nil {
		return scenarioReply{"the request has no scenario"}
	}
	if err := d.region.SetScenario(c.Over(d.cfg.scarcity())); err != nil {
		return scenarioReply{err.Error()}
	}
	return scenarioReply{}
}

// clockReply shows the clock, or says why it was not advanced.
type clockReply struct {
	Clock ocisim.Clock `json:"clock"`
	Error string       `json:"error"`
}

func (d *daemon) clock(advance time.Duration) clockReply {
	if err := d.region.Advance(advance); err != nil {
		return clockReply{Error: err.Error()}
	}
	return clockReply{Clock: d.region.Clock()}
}

func (d *daemon) status() Status {
	stats := d.region.Stats()
	status := Status{
		Requests: stats.Requests, Refused: stats.Refused, Operations: stats.Operations, Faults: stats.Faults, Unknown: stats.Unknown,
		InstanceConfigurations: stats.InstanceConfigurations, ClusterNetworks: stats.ClusterNetworks, ComputeClusters: stats.ComputeClusters,
		InstancePools: stats.InstancePools, Instances: stats.Instances, InstanceList: []InstanceStatus{}, Hosts: []string{},
	}
	for _, instance := range d.region.Instances() {
		status.InstanceList = append(status.InstanceList, InstanceStatus(instance))
	}
	if d.hosts != nil {
		status.Hosts = d.hosts.IDs()
		status.NVMe = NVMeStatus(d.hosts.NVMe())
		if err := d.hosts.Unprotected(); err != nil {
			status.Unprotected = err.Error()
		}
		if err := d.hosts.NoCgroups(); err != nil {
			status.NoContainers = err.Error()
		}
	}
	return status
}

// Open finds the lab that runs with a state directory, and waits for one that is just being started. It
// fails with [ErrNotRunning] where none is.
func Open(ctx context.Context, dir string) (*Lab, error) {
	for {
		lab := &Lab{Info: Info{Dir: dir}}
		conn, err := lab.connect(ctx)
		if errors.Is(err, ErrNotRunning) && left(dir) {
			err = fmt.Errorf("%w; the one that was there goes on with `ocihpc-lab up`", err)
		}
		if err != nil {
			return nil, err
		}
		_ = conn.Close()
		lab.Info, err = readInfo(dir)
		if err == nil {
			return lab, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !wait(ctx, lookInterval) { // It is being started.
			return nil, fmt.Errorf("wait for the start of the lab in %s: %w", dir, ctx.Err())
		}
	}
}

// Status asks the lab how it is.
func (l *Lab) Status(ctx context.Context) (Status, error) {
	var status Status
	if err := l.ask(ctx, controlRequest{Operation: operationStatus}, &status); err != nil {
		return Status{}, fmt.Errorf("ask the lab for its status: %w", err)
	}
	return status, nil
}

// SetScenario replaces what is scarce and what goes wrong in the lab; the zero scenario ends it. The
// capacity, shortage and vacancies that the lab was started with stay below it.
func (l *Lab) SetScenario(ctx context.Context, c ocisim.Scenario) error {
	var reply scenarioReply
	if err := l.ask(ctx, controlRequest{Operation: operationScenario, Scenario: &c}, &reply); err != nil {
		return fmt.Errorf("set the lab's scenario: %w", err)
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	return nil
}

// Advance moves the region's clock on, and gives it: boots, terminations and retention of so long are over
// at once. 0 only reads the clock.
func (l *Lab) Advance(ctx context.Context, by time.Duration) (ocisim.Clock, error) {
	var reply clockReply
	if err := l.ask(ctx, controlRequest{Operation: operationClock, Advance: by}, &reply); err != nil {
		return ocisim.Clock{}, fmt.Errorf("ask for the lab's clock: %w", err)
	}
	if reply.Error != "" {
		return ocisim.Clock{}, errors.New(reply.Error)
	}
	return reply.Clock, nil
}

// ask sends one request and reads its answer.
func (l *Lab) ask(ctx context.Context, request controlRequest, answer any) error {
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := hostinit.WriteWithFiles(conn, request); err != nil {
		return err
	}
	if err := json.NewDecoder(conn).Decode(answer); err != nil {
		return errors.Join(err, ctx.Err())
	}
	return nil
}

// Suspend ends the lab like [Lab.Close] and keeps its state: [Start] with the same directory goes on with it.
func (l *Lab) Suspend() error { return l.end(true) }

// Close ends the lab and returns when its processes, and with them its hosts, are gone. Its keys, its
// files for clients, its disks and its region go too; the logs stay unless the state directory is a
// temporary one. A lab that has ended already is no error.
func (l *Lab) Close() error {
	if err := l.end(false); err != nil {
		return err
	}
	if l.temporary {
		return os.RemoveAll(l.Info.Dir)
	}
	lock, err := lockDir(l.Info.Dir)
	if errors.Is(err, ErrRunning) || errors.Is(err, fs.ErrNotExist) {
		return nil // The directory is another lab's by now, or gone.
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return removeState(context.Background(), l.Info.Dir) // The lab has done so itself, unless it was killed.
}

func (l *Lab) end(keep bool) error {
	pidfd, err := unix.PidfdOpen(l.Info.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the lab's process: %w", err)
	}
	defer func() { _ = unix.Close(pidfd) }()
	conn, err := l.connect(context.Background())
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	err = hostinit.WriteWithFiles(conn, controlRequest{Operation: operationStop, Keep: keep})
	if err != nil && !errors.Is(err, unix.EPIPE) { // a process that is just dying is waited for, too
		return err
	}
	if l.lifetime != nil {
		_ = l.lifetime.Close()
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1) // #nosec G115 -- descriptors are small
		if !errors.Is(err, unix.EINTR) {
			return errors.Join(err, labhost.RemoveStaleCgroups(labhost.Patience))
		}
	}
}

// listenControl makes the control socket. The caller holds the directory's lock: a socket that is there
// is a dead one.
func listenControl(dir string) (*os.File, error) {
	path, done, err := controlPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old control socket: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	defer func() { _ = listener.Close() }()
	listener.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	file, err := listener.File()
	if err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	return file, nil
}

func (l *Lab) connect(ctx context.Context) (*net.UnixConn, error) {
	path, done, err := controlPath(l.Info.Dir)
	if err != nil {
		return nil, err
	}
	defer done()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNotRunning, l.Info.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the lab: %w", err)
	}
	return conn.(*net.UnixConn), nil
}

// controlPath gives a short path to the control socket, for as long as done is not called: a socket's
// path has at most 107 bytes, and a test's directory may be longer.
func controlPath(dir string) (path string, done func(), err error) {
	handle, err := os.Open(dir) // #nosec G304 -- the caller's directory
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	if err != nil {
		return "", nil, fmt.Errorf("open the state directory: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", handle.Fd(), controlFile), func() { _ = handle.Close() }, nil
}
