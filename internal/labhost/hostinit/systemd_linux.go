// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const systemd = "/lib/systemd/systemd"

// becomeSystemd executes systemd, after it has started a process that reports when sshd answers and runs the
// lab's commands; that one keeps the NVMe devices, too. The calling thread is in the host's namespaces. It returns only an error.
func becomeSystemd(cfg Config, devices *nvme) error {
	// It keeps systemd's hands off what is the machine's. As it is no environment variable, cloud-init takes the
	// host for what it stands for.
	const manager = "/run/host/container-manager"
	if err := errors.Join(os.MkdirAll(filepath.Dir(manager), 0o755), os.WriteFile(manager, []byte("ocihpc-lab\n"), 0o644)); err != nil { // #nosec G306 -- for every program
		return fmt.Errorf("write %s: %w", manager, err)
	}
	if cfg.NoSSH {
		if err := errors.Join(os.MkdirAll(filepath.Dir(maskedSSH), 0o755), os.Symlink(os.DevNull, maskedSSH)); err != nil {
			return fmt.Errorf("keep sshd from starting: %w", err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("start systemd: %w", err)
	}
	env := []string{"PATH=" + Path, "HOME=/root", "LANG=C.UTF-8"}
	_, err = syscall.ForkExec("/proc/self/exe", []string{"ocihpc-lab-exec", cfg.Hostname}, &syscall.ProcAttr{
		Dir: "/", Env: append(env, StageVariable+"="+stageServe, reportVariable+"="+string(mustJSON(devices.report(nil)))),
		Files: append([]uintptr{null.Fd(), 1, 2, ReportFD, ExecFD}, devices.descriptors...),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start what runs the lab's commands: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Dup2(int(null.Fd()), 0); err != nil { // #nosec G115 -- descriptors are small
		return fmt.Errorf("start systemd: %w", err)
	}
	return fmt.Errorf("start systemd: %w", syscall.Exec(systemd, []string{systemd, "--system", "--show-status=no"}, env))
}

// maskedSSH keeps systemd from starting sshd until the host ends.
const maskedSSH = "/run/systemd/system/ssh.service"

// reportVariable names the environment variable with what that process shall report.
const reportVariable = "OCIHPC_LAB_REPORT"

// stageServe is the value of [StageVariable] for the process that serves beside systemd.
const stageServe = "serve"

// bootPatience is how long systemd may take to start sshd: behind cloud-init's first stage, on a busy machine.
const bootPatience = 3 * time.Minute

// serve is the life of the process beside systemd.
func serve() error {
	syscall.CloseOnExec(ReportFD)
	syscall.CloseOnExec(ExecFD)
	for fd := ExecFD + 1; ; fd++ { // the NVMe devices
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			break
		}
	}
	var up Report
	if err := json.Unmarshal([]byte(os.Getenv(reportVariable)), &up); err != nil {
		return fmt.Errorf("read what to report: %w", err)
	}
	report := os.NewFile(ReportFD, "report")
	listener, err := net.FileListener(os.NewFile(ExecFD, "exec"))
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	children := newReaper()
	if _, masked := os.Lstat(maskedSSH); masked != nil {
		err = waitForSystemdSSH()
	}
	up.Error = errorText(err)
	_, _ = report.Write(mustJSON(up))
	_ = report.Close()
	serveExec(listener, children)
	return nil
}

func waitForSystemdSSH() error {
	late := make(chan struct{})
	time.AfterFunc(bootPatience, func() { close(late) })
	return waitForPort("127.0.0.1:22", late, func() error {
		return fmt.Errorf("systemd has not started sshd in %s; see `journalctl` and `systemctl --failed` on the host", bootPatience)
	})
}
