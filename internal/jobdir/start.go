// SPDX-License-Identifier: MPL-2.0

package jobdir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// State of a job after [Start].
type State string

// States.
const (
	Started  State = "started"  // by this call
	Running  State = "running"  // already
	Finished State = "finished" // with a pass, by an earlier run
)

// How long a detached runner may take to begin its work: in a session of its own, and as a service, after
// which it is tried in a session.
const (
	startLimit   = 20 * time.Second
	serviceLimit = 5 * time.Second
)

// Start has a runner work on the job in the directory, detached from this process and its session. It is
// idempotent: a job that is running, or a measurement that has passed, is left alone; any other is run anew, also
// one that was changed since. Of several calls at the same time one starts the job. runner is the path of ocihpc-runner.
func Start(ctx context.Context, dir job.Dir, runner string) (State, error) {
	j, err := ReadJob(dir.Job())
	if err != nil {
		return "", err
	}
	starting, err := openLock(dir.Lock() + ".start")
	if err != nil {
		return "", err
	}
	defer starting.close()
	if err := starting.wait(); err != nil {
		return "", fmt.Errorf("wait for another start: %w", err)
	}
	if holder, err := Holder(dir); err != nil || holder != 0 {
		return Running, err
	}
	if passed, err := passed(dir, j); err != nil || passed {
		return Finished, err
	}
	if err := errors.Join(sweep(dir), removed(dir.Log())); err != nil {
		return "", err
	}
	argv := []string{runner, "run", dir.Job(), "--dir", string(dir)}
	if asService(ctx, dir, argv) == nil {
		// A service may be kept from running what lies in a home (SELinux); a second runner does no harm.
		if err := begun(ctx, dir, serviceLimit, nil); err == nil {
			return Started, nil
		}
	}
	exited, err := inSession(ctx, dir, argv)
	if err != nil {
		return "", err
	}
	return Started, begun(ctx, dir, startLimit, exited)
}

// passed says whether the result in the directory is a pass of this very job, not of one that was there before. Nodes
// that were set up may have been changed since, by another set-up, too: they are looked at anew, which is cheap.
func passed(dir job.Dir, j job.Job) (bool, error) {
	if j.Setup != nil {
		return false, nil
	}
	status, over, err := finished(dir)
	if err != nil || !over || status != StatusPass {
		return false, err
	}
	text, err := os.ReadFile(dir.Result())
	if err != nil {
		return false, fmt.Errorf("read the earlier result: %w", err)
	}
	var result job.Result
	if err := json.Unmarshal(text, &result); err != nil {
		return false, fmt.Errorf("read the earlier result: %w", err)
	}
	return result.Key == j.Key() && !outdated(result, j) && !changedSince(result), nil
}

// outdated says that a result is older than the job takes.
func outdated(r job.Result, j job.Job) bool {
	return j.MaxAgeSeconds > 0 && time.Since(r.FinishedAt) > time.Duration(j.MaxAgeSeconds)*time.Second
}

// changedSince says that this node, the first of the result, has another kernel or NVIDIA driver by now. What cannot be
// told has not changed.
func changedSince(r job.Result) bool {
	if len(r.Nodes) == 0 || r.Nodes[0].Facts == nil {
		return false
	}
	facts := r.Nodes[0].Facts
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err == nil && facts.Kernel != "" && facts.Kernel != strings.TrimSpace(string(kernel)) {
		return true
	}
	driver, err := os.ReadFile("/proc/driver/nvidia/version")
	return err == nil && facts.DriverVersion != "" && !slices.Contains(strings.Fields(string(driver)), facts.DriverVersion)
}

// begun waits until the runner has the directory. exited gives the end of its process, where that is known.
func begun(ctx context.Context, dir job.Dir, limit time.Duration, exited <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		holder, err := Holder(dir)
		if err != nil || holder != 0 {
			return err
		}
		if _, over, err := finished(dir); err != nil || over {
			return err
		}
		select {
		case err := <-exited:
			if _, over, _ := finished(dir); over {
				return nil
			}
			return fmt.Errorf("the runner ended at once (%w); see %s", err, dir.Log())
		case <-ctx.Done():
			return fmt.Errorf("the runner has not begun: %w; see %s", ctx.Err(), dir.Log())
		case <-ticker.C:
		}
	}
}

// inSession starts a program in a session of its own, which outlives this process. The channel gives its end.
func inSession(ctx context.Context, dir job.Dir, argv []string) (<-chan error, error) {
	log, err := os.OpenFile(dir.Log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the runner has its own descriptor
	// The context of this call must not end the runner.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...) // #nosec G204 -- ourselves
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the runner: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	return exited, nil
}

var errNoSystemd = errors.New("systemd is not the init of this machine")

// asService starts the program as a transient service where systemd is the init, because systemd may be set
// up to end what a login session leaves behind: a service of the system, by sudo where need be, since a
// user's own services end with the user's last session unless lingering is on.
func asService(ctx context.Context, dir job.Dir, argv []string) error {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return errNoSystemd
	}
	service := []string{
		"systemd-run", "--quiet", "--collect", "--unit", "ocihpc-job-" + path.Base(string(dir)),
		"--uid", strconv.Itoa(os.Getuid()), "--gid", strconv.Itoa(os.Getgid()),
		// What a login gets on HPC images: RDMA needs locked memory.
		"--property", "LimitMEMLOCK=infinity", "--property", "LimitNOFILE=1048576",
		"--property", "UMask=0077",
	}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "PATH", "LD_LIBRARY_PATH", "SHELL", "LANG"} {
		if value, set := os.LookupEnv(name); set {
			service = append(service, "--setenv", name+"="+value)
		}
	}
	if os.Geteuid() != 0 {
		service = append([]string{"sudo", "--non-interactive"}, service...)
	}
	// The shell, unlike systemd, may use files of a home under SELinux.
	service = append(service, "--", "/bin/sh", "-c", `log=$1; shift; exec "$@" >>"$log" 2>&1`, "sh", dir.Log())
	service = append(service, argv...)
	return exec.CommandContext(ctx, service[0], service[1:]...).Run() // #nosec G204 -- fixed words and our own paths
}
