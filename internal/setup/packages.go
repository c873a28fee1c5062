// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Packages has packages of the distribution installed, by apt or dnf, whichever the node has. A name may hold a version
// as those take it: name=version for apt, name-version for dnf. Of others any version will do.
type Packages struct {
	Ident
	Names []string
}

// Title says the step.
func (p Packages) Title() string { return p.title("Install " + strings.Join(p.Names, ", ")) }

// Downloads says that it does.
func (p Packages) Downloads() bool { return true }

// manager is a package manager.
type manager struct {
	name      string
	locks     []string // files that whoever installs something locks by fcntl(2)
	installed func(ctx context.Context, name string) (bool, string, error)
	install   func(ctx context.Context, names []string, output io.Writer) error
}

var managers = []manager{
	{"apt-get", []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"}, debInstalled, aptInstall},
	{"dnf", []string{"/var/lib/rpm/.rpm.lock", "/usr/lib/sysimage/rpm/.rpm.lock"}, rpmInstalled, dnfInstall},
}

func findManager() (manager, error) {
	for _, m := range managers {
		if _, err := findProgram(m.name); err == nil {
			return m, nil
		}
	}
	return manager{}, Advise(errors.New("the node has neither apt-get nor dnf"), "use Oracle Linux, Ubuntu or Debian")
}

// Check asks the package manager's database.
func (p Packages) Check(ctx context.Context) (State, error) {
	lacks, said, err := p.lacking(ctx)
	return State{Done: err == nil && len(lacks) == 0, Detail: strings.Join(said, ", ")}, err
}

// lacking gives the names that are not installed, and what is to say of them, or else of those that are.
func (p Packages) lacking(ctx context.Context) (lacks, said []string, err error) {
	m, err := findManager()
	if err != nil {
		return nil, nil, err
	}
	var present []string
	for _, name := range p.Names {
		installed, detail, err := m.installed(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if installed {
			present = append(present, detail)
			continue
		}
		lacks, said = append(lacks, name), append(said, detail)
	}
	if len(lacks) == 0 {
		said = present
	}
	return lacks, said, nil
}

// Apply installs what is not there.
func (p Packages) Apply(ctx context.Context, output io.Writer) error {
	m, err := findManager()
	if err != nil {
		return err
	}
	lacks, _, err := p.lacking(ctx)
	if err != nil || len(lacks) == 0 {
		return err
	}
	if err := waitForLocks(ctx, m.locks, output); err != nil {
		return err
	}
	return m.install(ctx, lacks, output)
}

func debInstalled(ctx context.Context, name string) (bool, string, error) {
	name, version, _ := strings.Cut(name, "=")
	text, err := answer(ctx, "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}\n", name)
	var program *ProgramError
	if err != nil && !errors.As(err, &program) {
		return false, "", err
	}
	for line := range strings.Lines(text) { // several where several architectures are installed
		status, has, _ := strings.Cut(strings.TrimSpace(line), " ")
		if status == "installed" && (version == "" || version == has) {
			return true, name + " " + has, nil
		}
		if status == "installed" {
			return false, fmt.Sprintf("%s is %s, not %s", name, has, version), nil
		}
	}
	return false, name + " is not installed", nil
}

// noQuestions keeps packages from asking.
var noQuestions = []string{"DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_MODE=l"}

// aptInstall installs; where that fails it puts right what may be the reason, and tries once more: an installation
// that was cut off before, and lists that are missing or old.
func aptInstall(ctx context.Context, names []string, output io.Writer) error {
	run := func(argv ...string) error {
		_, err := Program{Argv: argv, Env: noQuestions}.Run(ctx, output)
		return err
	}
	// Another may take the lock between our look at it and apt's.
	install := append([]string{
		"apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Options::=--force-confold",
		"install", "--yes", "--no-install-recommends", "--",
	}, names...)
	err := run(install...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	_ = run("dpkg", "--configure", "--pending") // the second attempt tells whether it helped
	if updated := run("apt-get", "-o", "DPkg::Lock::Timeout=120", "update"); updated != nil {
		_, _ = fmt.Fprintf(output, "%v\n", updated)
	}
	if err = run(install...); err == nil || ctx.Err() != nil {
		return err
	}
	return Advise(err, "look at the output: see whether the node reaches its package sources (proxy, mirror), and whether the names and versions are in them")
}

func rpmInstalled(ctx context.Context, name string) (bool, string, error) {
	text, err := answer(ctx, "rpm", "--query", "--", name)
	var program *ProgramError
	if errors.As(err, &program) {
		return false, name + " is not installed", nil
	}
	return err == nil, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "), err
}

func dnfInstall(ctx context.Context, names []string, output io.Writer) error {
	argv := append([]string{"dnf", "--assumeyes", "--setopt=install_weak_deps=False", "install", "--"}, names...)
	_, err := Program{Argv: argv}.Run(ctx, output)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return Advise(err, "look at the output: see whether the node reaches its package repositories (proxy, mirror), and whether the names and versions are in them")
}

// lockLimit is how long another installation may take; one at the first boot of a node upgrades much.
const lockLimit = 15 * time.Minute

// WaitForPackages waits until nobody else installs or removes packages on the node, and tells who does.
func WaitForPackages(ctx context.Context, output io.Writer) error {
	m, err := findManager()
	if err != nil {
		return err
	}
	return waitForLocks(ctx, m.locks, output)
}

// waitForLocks waits until nobody installs anything, and tells who does.
func waitForLocks(ctx context.Context, files []string, output io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	told := ""
	for {
		holder, err := lockHolder(files)
		if err != nil || holder == "" {
			return err
		}
		if holder != told {
			_, _ = fmt.Fprintf(output, "waiting: %s\n", holder)
			tellWaiting(ctx, holder)
			told = holder
		}
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return context.Cause(ctx)
			}
			return Advise(fmt.Errorf("%s, for more than %s", holder, lockLimit), "wait for the end of that program, or end it, and start the set-up again")
		case <-time.After(time.Second):
		}
	}
}

// lockHolder says which process has locked one of the files; empty when none has.
func lockHolder(files []string) (string, error) {
	for _, path := range files {
		file, err := os.OpenFile(path, os.O_RDWR, 0) // #nosec G304 -- fixed names
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		lock := &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
		err = unix.FcntlFlock(file.Fd(), unix.F_GETLK, lock)
		_ = file.Close() // nothing was written
		if err != nil {
			return "", fmt.Errorf("look at the lock %s: %w", path, err)
		}
		if lock.Type != unix.F_UNLCK {
			return fmt.Sprintf("%s is locked by process %d%s", path, lock.Pid, nameOf(int(lock.Pid))), nil
		}
	}
	return "", nil
}

// nameOf gives a process' name in parentheses; nothing when it has gone.
func nameOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // #nosec G304 -- below /proc
	words := slices.DeleteFunc(strings.Split(string(text), "\x00"), func(word string) bool { return word == "" })
	if err != nil || len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words[:min(len(words), 3)], " ") + ")"
}
