// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func init() {
	life := run
	switch os.Getenv(StageVariable) {
	case StageHost:
	case stageServe:
		life = serve
	default:
		return
	}
	if err := life(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run is the life of a host. Its end is the host's end: the kernel kills what is left.
func run() error {
	syscall.CloseOnExec(ReportFD)
	syscall.CloseOnExec(ExecFD)
	report := os.NewFile(ReportFD, "report")
	listener, err := net.FileListener(os.NewFile(ExecFD, "exec"))
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	var cfg Config
	if err := json.NewDecoder(os.Stdin).Decode(&cfg); err != nil {
		return fmt.Errorf("read the host's configuration: %w", err)
	}

	children := newReaper()
	var devices nvme
	err = boot(cfg, children, &devices)
	_, _ = report.Write(mustJSON(devices.report(err))) // A lab that is gone needs no report.
	_ = report.Close()
	if err != nil {
		return fmt.Errorf("boot %s: %w", cfg.Hostname, err)
	}
	go serveExec(listener, children)
	if cfg.CloudInit {
		go func() {
			if err := cloudInit(children); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", cfg.Hostname, err)
			}
		}()
	}
	<-terminate
	return nil
}

const sshdLog = "/var/log/sshd.log"

// boot returns when sshd answers, where there is one.
func boot(cfg Config, children *reaper, devices *nvme) error {
	runtime.LockOSThread() // The cgroup namespace is this thread's.
	defer runtime.UnlockOSThread()
	if err := hideCgroups(cfg.Cgroups); err != nil {
		return err
	}
	if err := makeRoot(cfg, devices); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(cfg.Hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := configureNetwork(cfg); err != nil {
		return err
	}
	if cfg.Systemd {
		return becomeSystemd(cfg, devices)
	}
	if cfg.NoSSH {
		return nil
	}
	console, err := os.OpenFile(sshdLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open sshd's log: %w", err)
	}
	sshd, err := children.start([]string{"/usr/sbin/sshd", "-D", "-e"}, nil, console, console)
	if err != nil {
		return fmt.Errorf("start sshd: %w", err)
	}
	err = waitForPort("127.0.0.1:22", sshd.done, func() error {
		messages, err := os.ReadFile(sshdLog)
		return errors.Join(fmt.Errorf("sshd ended with status %d: %s", sshd.exitStatus(), messages), err)
	})
	if err != nil {
		return err
	}
	go superviseSSHD(children, sshd, console)
	return nil
}

// superviseSSHD starts sshd again when it ends, as a service manager would.
func superviseSSHD(children *reaper, sshd *child, console *os.File) {
	for {
		<-sshd.done
		time.Sleep(time.Second)
		next, err := children.start([]string{"/usr/sbin/sshd", "-D", "-e"}, nil, console, console)
		if err != nil {
			fmt.Fprintf(os.Stderr, "start sshd again: %v\n", err)
			return
		}
		sshd = next
	}
}

// waitForPort returns when something accepts connections there, or the reason when it never will.
func waitForPort(address string, never <-chan struct{}, reason func() error) error {
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("wait for sshd: %w", err)
		}
		select {
		case <-never:
			return reason()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// cloudInit runs cloud-init's boot stages.
func cloudInit(children *reaper) error {
	console, err := os.OpenFile("/var/log/cloud-init-output.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("open cloud-init's log: %w", err)
	}
	defer func() { _ = console.Close() }()
	stages, err := children.start([]string{CloudInitProgram}, nil, console, console)
	if err != nil {
		return fmt.Errorf("start cloud-init: %w", err)
	}
	<-stages.done
	return nil
}
