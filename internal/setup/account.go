// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// becomeUser has a command run as a user: with all groups, and what a login would set.
func becomeUser(cmd *exec.Cmd, name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return Advise(fmt.Errorf("find the user %s: %w", name, err), "add the user to the node, or name another")
	}
	groups, err := u.GroupIds()
	if err != nil {
		return fmt.Errorf("find the groups of %s: %w", name, err)
	}
	credential := &syscall.Credential{}
	for _, id := range append([]string{u.Uid, u.Gid}, groups...) {
		number, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return fmt.Errorf("id %q of %s: %w", id, name, err)
		}
		credential.Groups = append(credential.Groups, uint32(number))
	}
	credential.Uid, credential.Gid, credential.Groups = credential.Groups[0], credential.Groups[1], credential.Groups[2:]
	cmd.SysProcAttr.Credential = credential
	cmd.Dir = "/"
	if _, err := os.Stat(u.HomeDir); err == nil {
		cmd.Dir = u.HomeDir
	}
	runtime := "/run/user/" + u.Uid // systemd's, where user units are reached
	cmd.Env = append(cmd.Env, "HOME="+u.HomeDir, "USER="+name, "LOGNAME="+name, "XDG_RUNTIME_DIR="+runtime,
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+runtime+"/bus")
	return nil
}

// Groups has a user in groups, which must be there. Sessions that are open learn of it at their next login.
type Groups struct {
	Ident
	User   string
	Groups []string
}

// Title says the step.
func (g Groups) Title() string {
	return g.title(fmt.Sprintf("Add %s to %s", g.User, strings.Join(g.Groups, ", ")))
}

// Check asks the system, which may know the user from a directory service.
func (g Groups) Check(ctx context.Context) (State, error) {
	text, err := answer(ctx, "id", "-nG", "--", g.User)
	if err != nil {
		return State{}, Advise(fmt.Errorf("find the groups of %s: %w", g.User, err), "add the user to the node, or name another")
	}
	present := strings.Fields(text)
	lacks := slices.DeleteFunc(slices.Clone(g.Groups), func(name string) bool { return slices.Contains(present, name) })
	if len(lacks) == 0 {
		return State{Done: true, Detail: g.User + " is in " + strings.Join(g.Groups, ", ")}, nil
	}
	return State{Detail: g.User + " is not in " + strings.Join(lacks, ", ")}, nil
}

// Apply adds the user to the groups.
func (g Groups) Apply(ctx context.Context, output io.Writer) error {
	_, err := Program{Argv: []string{"usermod", "--append", "--groups", strings.Join(g.Groups, ","), g.User}}.Run(ctx, output)
	return err
}

// SubIDs gives a user subordinate user and group ids (subuid(5)), which rootless containers need.
type SubIDs struct {
	Ident
	User  string
	Count int // at least; 0 means 65536
}

func (s SubIDs) count() int {
	if s.Count == 0 {
		return 65536
	}
	return s.Count
}

// Where the ids are kept, and the option of usermod that adds to each.
var subIDFiles = []struct{ path, option string }{{"/etc/subuid", "--add-subuids"}, {"/etc/subgid", "--add-subgids"}}

// firstSubID is where useradd begins (SUB_UID_MIN of login.defs(5)).
const firstSubID = 100000

// lastSubID is the last that the kernel has.
const lastSubID = math.MaxUint32 - 1

// Title says the step.
func (s SubIDs) Title() string {
	return s.title(fmt.Sprintf("Give %s %d subordinate ids", s.User, s.count()))
}

// Check reads both files.
func (s SubIDs) Check(context.Context) (State, error) {
	u, err := user.Lookup(s.User)
	if err != nil {
		return State{}, Advise(fmt.Errorf("find the user %s: %w", s.User, err), "add the user to the node, or name another")
	}
	var lacks []string
	for _, file := range subIDFiles {
		ranges, err := readSubIDs(file.path)
		if err != nil {
			return State{}, err
		}
		if !slices.ContainsFunc(ranges, func(r subIDs) bool { return (r.owner == s.User || r.owner == u.Uid) && r.count >= s.count() }) {
			lacks = append(lacks, file.path)
		}
	}
	if len(lacks) == 0 {
		return State{Done: true, Detail: s.User + " has them"}, nil
	}
	return State{Detail: s.User + " has no such range in " + strings.Join(lacks, " and ")}, nil
}

// Apply adds one range, after all those that there are, to each file that lacks one.
func (s SubIDs) Apply(ctx context.Context, output io.Writer) error {
	u, err := user.Lookup(s.User)
	if err != nil {
		return fmt.Errorf("find the user %s: %w", s.User, err)
	}
	start := firstSubID
	var options []string
	for _, file := range subIDFiles {
		ranges, err := readSubIDs(file.path)
		if err != nil {
			return err
		}
		has := false
		for _, r := range ranges {
			start = max(start, r.start+r.count)
			has = has || (r.owner == s.User || r.owner == u.Uid) && r.count >= s.count()
		}
		if !has {
			options = append(options, file.option)
		}
	}
	if start+s.count()-1 > lastSubID {
		return Advise(fmt.Errorf("no %d ids are left after those in %s", s.count(), subIDFiles[0].path), "take away ranges there that nobody uses, or give "+s.User+" one by hand")
	}
	argv := []string{"usermod"}
	for _, option := range options {
		argv = append(argv, option, fmt.Sprintf("%d-%d", start, start+s.count()-1))
	}
	_, err = Program{Argv: append(argv, s.User)}.Run(ctx, output)
	return err
}

type subIDs struct {
	owner        string
	start, count int
}

// readSubIDs reads a file in the form of subuid(5); one that is not there has none.
func readSubIDs(path string) ([]subIDs, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- fixed names
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseSubIDs(string(text)), nil
}

// parseSubIDs reads lines of OWNER:START:COUNT; others are no ranges.
func parseSubIDs(text string) []subIDs {
	var all []subIDs
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 {
			continue
		}
		start, startErr := strconv.ParseUint(fields[1], 10, 32)
		count, countErr := strconv.ParseUint(fields[2], 10, 32)
		if startErr == nil && countErr == nil {
			all = append(all, subIDs{fields[0], int(start), int(count)}) // #nosec G115 -- of 32 bits
		}
	}
	return all
}
