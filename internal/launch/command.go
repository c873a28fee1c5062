// SPDX-License-Identifier: MPL-2.0

// Package launch is how the ranks of a program get started: as one process on one node, or over several
// nodes by mpirun, whose daemons reach the other nodes through the running job (see [Agent]). Whatever is
// started on a node is supervised there and ends with everything it started (see [Supervise]).
package launch

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// Command is a program to start on a node.
type Command struct {
	Argv []string
	// Env is set in addition to what a login gives.
	Env map[string]string
	// LibraryDir is searched first for shared libraries; empty adds nothing.
	LibraryDir string
	// Enter is a command line of the node that runs what follows it somewhere else: in a container.
	Enter []string
}

// Line is the command for a login shell, supervised by the runner of the node, whose path may be relative to
// the login user's home.
func (c Command) Line(runner string) string {
	argv := []string{runner, "supervise"}
	if c.LibraryDir != "" {
		argv = append(argv, "--library-dir", c.LibraryDir)
	}
	for _, name := range sortedKeys(c.Env) {
		argv = append(argv, "--env", name+"="+c.Env[name])
	}
	argv = slices.Concat(c.Enter, argv, []string{"--"}, c.Argv)
	line := "exec " + shellescape.QuoteCommand(argv)
	if !path.IsAbs(argv[0]) {
		return "cd && " + line
	}
	return line
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// libraryDir is where an Open MPI in a folder of its own keeps its libraries; empty for one of the system.
func libraryDir(openMPIBin string) string {
	if openMPIBin == "" || strings.HasPrefix(openMPIBin, "/usr/bin") || strings.HasPrefix(openMPIBin, "/bin") {
		return ""
	}
	return filepath.Join(filepath.Dir(openMPIBin), "lib")
}
