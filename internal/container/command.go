// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// account is the user of a rootless engine.
type account struct {
	name, home string
	uid, gid   int
}

// lookupAccount finds a user of this node.
func lookupAccount(name string) (*account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, setup.Advise(fmt.Errorf("find the user %s: %w", name, err), "add the user to the nodes first, by cloud-init or useradd")
	}
	a := &account{name: name, home: u.HomeDir}
	if a.uid, err = strconv.Atoi(u.Uid); err == nil {
		a.gid, err = strconv.Atoi(u.Gid)
	}
	if err != nil {
		return nil, fmt.Errorf("read the ids of user %s: %w", name, err)
	}
	return a, nil
}

// runtimeDir is where the user's session has its sockets (XDG_RUNTIME_DIR).
func (a *account) runtimeDir() string { return "/run/user/" + strconv.Itoa(a.uid) }

// bus is the socket of the user's own systemd, which su and sudo do not give.
func (a *account) bus() string { return a.runtimeDir() + "/bus" }

// as is who a program is run as.
func (a *account) as() string {
	if a == nil {
		return ""
	}
	return a.name
}

// noQuestions keeps package managers from asking.
var noQuestions = []string{"DEBIAN_FRONTEND=noninteractive"}

// run runs a program as root, and shows what it prints.
func run(ctx context.Context, output io.Writer, argv ...string) error {
	return runAs(ctx, output, nil, nil, argv...)
}

// runAs is run as a user, with an environment.
func runAs(ctx context.Context, output io.Writer, who *account, env []string, argv ...string) error {
	_, err := setup.Program{Argv: argv, User: who.as(), Env: append(env, noQuestions...)}.Run(ctx, output)
	return err //nolint:wrapcheck // it names the program
}

// answerLimit bounds a program that only has to answer a question; a container's start is one.
const answerLimit = 2 * time.Minute

// answer runs a program as root and gives what it wrote to stdout.
func answer(ctx context.Context, argv ...string) (string, error) {
	return answerAs(ctx, nil, nil, argv...)
}

// answerAs is answer as a user, with an environment.
func answerAs(ctx context.Context, who *account, env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, fmt.Errorf("%s did not answer within %v", argv[0], answerLimit))
	defer cancel()
	text, err := setup.Program{Argv: argv, User: who.as(), Env: env}.Run(ctx, nil)
	return strings.TrimRight(text, "\n"), err //nolint:wrapcheck // it names the program
}

// programDirs are where engines and package managers put programs.
var programDirs = []string{sbinDir, binDir, "/usr/sbin", "/usr/bin"}

// installed says whether a program is there.
func installed(name string) bool { return pathOf(name) != "" }

// pathOf finds a program; empty when it is not there.
func pathOf(name string) string {
	if filepath.IsAbs(name) {
		found, err := exec.LookPath(name)
		if err != nil {
			return ""
		}
		return found
	}
	for _, dir := range programDirs {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return ""
}
