// SPDX-License-Identifier: MPL-2.0

package launch

// Single starts a program as one process, which drives all GPUs of its node by threads. openMPIBin is the
// folder of the Open MPI that the program may be linked with; empty when there is none.
func Single(program string, args []string, env map[string]string, openMPIBin string) Command {
	return Command{
		Argv:       append([]string{program}, args...),
		Env:        env,
		LibraryDir: libraryDir(openMPIBin),
	}
}
