// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MPI is a program to run over several nodes, one rank a GPU.
type MPI struct {
	Program string
	Args    []string
	// Env of every rank. OMPI_MCA_* settings are for Open MPI itself and its daemons.
	Env map[string]string

	// Hosts are the nodes' addresses; the first is the node that mpirun is started on.
	Hosts        []string
	RanksPerHost int
	// Networks that the nodes share, such as 10.0.1.0/24: Open MPI's daemons and TCP keep to them. None
	// leaves the choice to Open MPI.
	Networks []string

	OpenMPIBin string // folder of mpirun, the same on every node
	// Version of Open MPI, such as 4.1.7 or 5.0.3; it tells the names of the options. Empty means 4.
	Version string
	Runner  string // path of ocihpc-runner on the first node
	Socket  string // of the job's [Agent]
	Root    bool   // the login user is root
}

// MPIRun gives the command line for Open MPI 4 or 5.
//
//   - The agent that starts the daemons is ocihpc-runner itself: no ssh client, no key and no sshd set-up is needed.
//     Open MPI's daemon on every node wants to see the agent's program too, though it never calls it: env is everywhere,
//     the runner need not be at the same place on every node.
//   - The daemons stay in the sessions that started them (leave-session-attached), all of them started by
//     mpirun (no_tree_spawn), so that a closed session ends its node's ranks. Each session holds an agent
//     for the whole run: num_concurrent must not be less than the number of nodes.
//   - Host names stay as the job has them (keep_fqdn_hostnames), so that the agent knows them.
//   - --bind-to none: NCCL places its own threads next to their GPUs.
func MPIRun(m MPI) (Command, error) {
	if err := m.check(); err != nil {
		return Command{}, fmt.Errorf("mpirun: %w", err)
	}
	names := namesOf(m.Version)
	argv := m.begin()
	argv = append(argv,
		"--leave-session-attached",
		names.option, "plm", names.plm,
		names.option, "plm_"+names.plm+"_agent", "/usr/bin/env "+m.Runner+" rsh",
		names.option, "plm_"+names.plm+"_no_tree_spawn", "1",
		names.option, "plm_"+names.plm+"_num_concurrent", strconv.Itoa(max(128, len(m.Hosts))),
		names.option, names.runtime+"_keep_fqdn_hostnames", "1",
	)
	if len(m.Networks) > 0 {
		networks := strings.Join(m.Networks, ",")
		argv = append(argv, names.option, names.daemons, networks, "--mca", "btl_tcp_if_include", networks)
	}
	hosts := make([]string, len(m.Hosts))
	for i, host := range m.Hosts {
		hosts[i] = host + ":" + strconv.Itoa(m.RanksPerHost)
	}
	if names.local != "" {
		hosts[0] = names.local + ":" + strconv.Itoa(m.RanksPerHost)
	}
	argv = append(argv, "--bind-to", "none", "--map-by", fmt.Sprintf("ppr:%d:node", m.RanksPerHost), "--host", strings.Join(hosts, ","))
	return m.end(argv, map[string]string{SocketVariable: m.Socket}), nil
}

// MPIRunAlone gives the command line for one node, which is the one that mpirun is started on: no daemon and no agent is needed.
func MPIRunAlone(m MPI) (Command, error) {
	if err := m.check(); err != nil {
		return Command{}, fmt.Errorf("mpirun: %w", err)
	}
	argv := append(m.begin(), "--bind-to", "none", "--host", "localhost:"+strconv.Itoa(m.RanksPerHost))
	return m.end(argv, map[string]string{}), nil
}

func (m MPI) begin() []string {
	argv := []string{filepath.Join(m.OpenMPIBin, "mpirun")}
	if m.Root {
		argv = append(argv, "--allow-run-as-root")
	}
	return argv
}

// end adds the number of ranks, their environment and the program.
func (m MPI) end(argv []string, env map[string]string) Command {
	argv = append(argv, "-np", strconv.Itoa(len(m.Hosts)*m.RanksPerHost))
	for _, name := range sortedKeys(m.Env) {
		env[name] = m.Env[name]
		if !strings.HasPrefix(name, "OMPI_MCA_") && !strings.HasPrefix(name, "PRTE_MCA_") { // mpirun hands those to its daemons by itself
			argv = append(argv, "-x", name)
		}
	}
	argv = append(append(argv, m.Program), m.Args...)
	return Command{Argv: argv, Env: env, LibraryDir: libraryDir(m.OpenMPIBin)}
}

// names of what starts Open MPI's daemons.
type names struct {
	option  string // that sets a parameter of the daemons
	plm     string // component that starts them by an agent
	runtime string // prefix of general parameters
	daemons string // parameter for the networks that they talk over
	local   string // the first host, where its address does not do: PRRTE finds no slots on its own node by that
}

// namesOf gives the names of a version: from 5 on, the daemons are PRRTE's.
func namesOf(version string) names {
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err == nil && number >= 5 {
		return names{option: "--prtemca", plm: "ssh", runtime: "prte", daemons: "prte_if_include", local: "localhost"}
	}
	return names{option: "--mca", plm: "rsh", runtime: "orte", daemons: "oob_tcp_if_include"}
}

// check refuses what Open MPI would silently take apart.
func (m MPI) check() error {
	if len(m.Hosts) == 0 || m.RanksPerHost < 1 {
		return errors.New("there must be at least one host and one rank a host")
	}
	// Open MPI splits the agent at blanks and colons, and does not know quotes.
	if strings.ContainsAny(m.Runner, " \t:\"'") {
		return fmt.Errorf("the path of the runner, %q, holds a blank, colon or quote; Open MPI cannot start it from there", m.Runner)
	}
	for _, name := range sortedKeys(m.Env) {
		// -x joins all variables by semicolons.
		if strings.Contains(m.Env[name], ";") {
			return fmt.Errorf("the value of %s holds a semicolon, which Open MPI cannot hand on", name)
		}
	}
	return nil
}

// CommonNetworks gives the different networks of all nodes, or none when that of a node is not known.
func CommonNetworks(networks []string) []string {
	if slices.Contains(networks, "") {
		return nil
	}
	sorted := slices.Clone(networks)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
