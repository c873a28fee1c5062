// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
)

// Stages of the daemon's start, in hostinit.StageVariable.
const (
	stageDaemon = "daemon"
	stageRemove = "remove" // of disks
	// A stage with this before its name waits until its user IDs are mapped, and only then gets root's
	// capabilities, by executing itself as that stage.
	inUserNamespace = "user-namespace-"
)

// namespaces that the daemon has to itself.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// daemonProcess is the daemon as its starter sees it.
type daemonProcess struct {
	pid           int
	stdin         io.WriteCloser
	userNamespace bool
	ended         chan struct{}
}

// launch starts the daemon: with hosts, as root in new namespaces, else in a user namespace with them.
func launch(ctx context.Context, cfg Config, files []*os.File, log *os.File) (*daemonProcess, error) {
	if cfg.Hosts == HostsNone {
		return spawn(ctx, stageDaemon, cfg.Dir, 0, files, log)
	}
	if os.Geteuid() == 0 {
		process, err := spawn(ctx, stageDaemon, cfg.Dir, namespaces, files, log)
		if !errors.Is(err, syscall.EPERM) {
			return process, err
		}
		// A root without capabilities, as in a container, is a plain user.
	}
	return spawnAsRoot(ctx, stageDaemon, cfg.Dir, namespaces, files, log)
}

// spawnAsRoot starts a stage as the root of a user namespace of its own.
func spawnAsRoot(ctx context.Context, stage, dir string, flags uintptr, files []*os.File, log *os.File) (*daemonProcess, error) {
	maps, err := subordinateIDs()
	if err != nil {
		return nil, err
	}
	process, err := spawn(ctx, inUserNamespace+stage, dir, flags|syscall.CLONE_NEWUSER, files, log)
	if err != nil {
		return nil, explainUserNamespaces(err)
	}
	process.userNamespace = true
	err = maps.apply(ctx, process.pid)
	if err == nil {
		_, err = process.stdin.Write([]byte{0}) // The mapping is there: go on.
	}
	if err != nil {
		return nil, errors.Join(err, process.kill())
	}
	return process, nil
}

// removeAsRoot removes a directory of a plain user with files of subordinate users.
func removeAsRoot(ctx context.Context, dir string) error {
	process, err := spawnAsRoot(ctx, stageRemove, dir, 0, nil, nil)
	if err != nil {
		return err
	}
	select {
	case <-process.ended:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), process.kill())
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: files are left, of your subordinate users", dir)
	}
	return nil
}

func spawn(ctx context.Context, stage, dir string, flags uintptr, files []*os.File, log *os.File) (*daemonProcess, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe") // ctx bounds the start, not the lab.
	cmd.Args = []string{"ocihpc-lab-daemon", dir}                            // for ps
	cmd.Env = []string{hostinit.StageVariable + "=" + stage, "PATH=" + hostinit.Path, "HOME=/", "LANG=C.UTF-8"}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the lab's process: %w", err)
	}
	process := &daemonProcess{pid: cmd.Process.Pid, stdin: stdin, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // How it ended is in its log.
		close(process.ended)
	}()
	return process, nil
}

// kill ends the daemon and returns when everything in its namespaces is gone.
func (p *daemonProcess) kill() error {
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end the lab's process: %w", err)
	}
	<-p.ended
	return nil
}

// idMaps are the user and group IDs of a user namespace: this user is root, and the subordinate IDs follow.
type idMaps struct{ uid, gid []string }

func (m idMaps) apply(ctx context.Context, pid int) error {
	for program, ids := range map[string][]string{"newuidmap": m.uid, "newgidmap": m.gid} {
		args := append([]string{strconv.Itoa(pid)}, ids...)
		output, err := exec.CommandContext(ctx, program, args...).CombinedOutput() // #nosec G204 -- the system's own helpers
		if err != nil {
			return fmt.Errorf("map the IDs of the user namespace: %s: %w: %s", program, err, strings.TrimSpace(string(output)))
		}
	}
	return nil
}

// subordinateIDs reads what /etc/subuid and /etc/subgid give this user.
func subordinateIDs() (idMaps, error) {
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			return idMaps{}, fmt.Errorf("%w: as a plain user they need %s; install it (Debian, Ubuntu: apt-get install uidmap; "+
				"Oracle Linux: dnf install shadow-utils), or run the lab as root", ErrUnsupported, program)
		}
	}
	me, err := user.Current()
	if err != nil {
		return idMaps{}, fmt.Errorf("look up the user: %w", err)
	}
	uid, errUID := subordinateRange("/etc/subuid", me)
	gid, errGID := subordinateRange("/etc/subgid", me)
	if err := errors.Join(errUID, errGID); err != nil {
		return idMaps{}, fmt.Errorf("%w: %w; give yourself a range (sudo usermod --add-subuids 100000-165535 "+
			"--add-subgids 100000-165535 %s), or run the lab as root", ErrUnsupported, err, me.Username)
	}
	return idMaps{
		uid: append([]string{"0", me.Uid, "1"}, uid...),
		gid: append([]string{"0", me.Gid, "1"}, gid...),
	}, nil
}

// leastIDs that a host needs: nobody is 65534.
const leastIDs = 65535

// subordinateRange gives the user's first sufficient range as "1 START COUNT".
func subordinateRange(path string, me *user.User) ([]string, error) {
	file, err := os.Open(path) // #nosec G304 -- one of two files of the system
	if err != nil {
		return nil, fmt.Errorf("read your ID ranges: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 3 || (fields[0] != me.Username && fields[0] != me.Uid) {
			continue
		}
		if count, err := strconv.Atoi(fields[2]); err == nil && count >= leastIDs {
			return []string{"1", fields[1], strconv.Itoa(leastIDs)}, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read your ID ranges: %w", err)
	}
	return nil, fmt.Errorf("%s has no range of %d or more for %s", path, leastIDs, me.Username)
}

// explainUserNamespaces says which setting of the machine forbids user namespaces.
func explainUserNamespaces(err error) error {
	return fmt.Errorf("%w: user namespaces are refused (%w); %s, or run the lab as root", ErrUnsupported, err, userNamespaceAdvice())
}

func userNamespaceAdvice() string {
	for _, setting := range []struct{ name, path, bad string }{
		{"kernel.apparmor_restrict_unprivileged_userns=0", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"},
		{"kernel.unprivileged_userns_clone=1", "/proc/sys/kernel/unprivileged_userns_clone", "0"},
		{"user.max_user_namespaces=10000", "/proc/sys/user/max_user_namespaces", "0"},
	} {
		if value, err := os.ReadFile(setting.path); err == nil && strings.TrimSpace(string(value)) == setting.bad {
			return "allow them with `sudo sysctl " + setting.name + "`"
		}
	}
	return "in a container, start it privileged; elsewhere, see what your administrator allows"
}
