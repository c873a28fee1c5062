// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestMPIRun(t *testing.T) {
	t.Parallel()
	got, err := MPIRun(MPI{
		Program: "/opt/nccl/all_reduce_perf", Args: []string{"-b", "8", "-g", "1"},
		Env:   map[string]string{"NCCL_IB_HCA": "=mlx5_0,mlx5_1", "OMPI_MCA_coll": "^hcoll", "NCCL_DEBUG": "WARN"},
		Hosts: []string{"10.0.1.2", "gpu-2.example"}, RanksPerHost: 8, Networks: []string{"10.0.1.0/24", "10.0.2.0/24"},
		OpenMPIBin: "/usr/mpi/gcc/openmpi-4.1.7/bin", Runner: "/home/opc/.ocihpc/bin/ocihpc-runner", Socket: "/home/opc/job/rsh.sock", Root: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/usr/mpi/gcc/openmpi-4.1.7/bin/mpirun", "--allow-run-as-root", "--leave-session-attached",
		"--mca", "plm", "rsh", "--mca", "plm_rsh_agent", "/usr/bin/env /home/opc/.ocihpc/bin/ocihpc-runner rsh",
		"--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_num_concurrent", "128", "--mca", "orte_keep_fqdn_hostnames", "1",
		"--mca", "oob_tcp_if_include", "10.0.1.0/24,10.0.2.0/24", "--mca", "btl_tcp_if_include", "10.0.1.0/24,10.0.2.0/24",
		"--bind-to", "none", "--map-by", "ppr:8:node", "--host", "10.0.1.2:8,gpu-2.example:8", "-np", "16",
		"-x", "NCCL_DEBUG", "-x", "NCCL_IB_HCA", "/opt/nccl/all_reduce_perf", "-b", "8", "-g", "1",
	}
	if !slices.Equal(got.Argv, want) {
		t.Errorf("got  %q\nwant %q", got.Argv, want)
	}
	line := got.Line("/home/opc/.ocihpc/bin/ocihpc-runner")
	if want := "exec /home/opc/.ocihpc/bin/ocihpc-runner supervise --library-dir /usr/mpi/gcc/openmpi-4.1.7/lib " +
		"--env NCCL_DEBUG=WARN --env NCCL_IB_HCA==mlx5_0,mlx5_1 --env OCIHPC_RSH_SOCKET=/home/opc/job/rsh.sock --env 'OMPI_MCA_coll=^hcoll' -- "; !strings.HasPrefix(line, want) {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

// Open MPI 5 has PRRTE's daemons: the options are those that PRRTE documents. This line was not run.
func TestMPIRunOfOpenMPI5(t *testing.T) {
	t.Parallel()
	got, err := MPIRun(MPI{
		Program: "/opt/nccl/all_reduce_perf", Args: []string{"-b", "8"}, Env: map[string]string{"NCCL_DEBUG": "WARN", "PRTE_MCA_x": "1"},
		Hosts: []string{"10.0.1.2", "10.0.1.3"}, RanksPerHost: 8, Networks: []string{"10.0.1.0/24"},
		OpenMPIBin: "/opt/openmpi-5.0.3/bin", Version: "5.0.3", Runner: "/r", Socket: "/s",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/opt/openmpi-5.0.3/bin/mpirun", "--leave-session-attached", "--prtemca", "plm", "ssh",
		"--prtemca", "plm_ssh_agent", "/usr/bin/env /r rsh", "--prtemca", "plm_ssh_no_tree_spawn", "1",
		"--prtemca", "plm_ssh_num_concurrent", "128", "--prtemca", "prte_keep_fqdn_hostnames", "1",
		"--prtemca", "prte_if_include", "10.0.1.0/24", "--mca", "btl_tcp_if_include", "10.0.1.0/24",
		"--bind-to", "none", "--map-by", "ppr:8:node", "--host", "localhost:8,10.0.1.3:8", "-np", "16",
		"-x", "NCCL_DEBUG", "/opt/nccl/all_reduce_perf", "-b", "8",
	}
	if !slices.Equal(got.Argv, want) {
		t.Errorf("got  %q\nwant %q", got.Argv, want)
	}
	if !maps.Equal(got.Env, map[string]string{"NCCL_DEBUG": "WARN", "PRTE_MCA_x": "1", SocketVariable: "/s"}) {
		t.Errorf("environment %v", got.Env)
	}
}

func TestMPIRunAlone(t *testing.T) {
	t.Parallel()
	got, err := MPIRunAlone(MPI{Program: "p", Args: []string{"-g", "1"}, Hosts: []string{"10.0.1.2"}, RanksPerHost: 8, Env: map[string]string{"A": "b"}, OpenMPIBin: "/usr/bin"})
	if want := "/usr/bin/mpirun --bind-to none --host localhost:8 -np 8 -x A p -g 1"; err != nil || strings.Join(got.Argv, " ") != want {
		t.Errorf("%q, %v", got.Argv, err)
	}
}

func TestMPIRunOnManyHosts(t *testing.T) {
	t.Parallel()
	got, err := MPIRun(MPI{Program: "p", Hosts: make([]string, 200), RanksPerHost: 1, Runner: "/r"})
	if err != nil {
		t.Fatal(err)
	}
	// Fewer agents at a time than nodes would wait for each other forever.
	if i := slices.Index(got.Argv, "plm_rsh_num_concurrent"); i < 0 || got.Argv[i+1] != "200" {
		t.Errorf("%q", got.Argv)
	}
}

func TestMPIRunRefuses(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]MPI{
		"no hosts":               {RanksPerHost: 1},
		"no ranks":               {Hosts: []string{"a"}},
		"blank in runner's path": {Hosts: []string{"a"}, RanksPerHost: 1, Runner: "/home/a b/runner"},
		"colon in runner's path": {Hosts: []string{"a"}, RanksPerHost: 1, Runner: "/home/a:b/runner"},
		"semicolon in a value":   {Hosts: []string{"a"}, RanksPerHost: 1, Runner: "/r", Env: map[string]string{"A": "x;y"}},
	} {
		if got, err := MPIRun(m); err == nil {
			t.Errorf("%s: %q", name, got.Argv)
		}
	}
}

func TestSingle(t *testing.T) {
	t.Parallel()
	c := Single("/opt/nccl/all_reduce_perf", []string{"-g", "8"}, map[string]string{"A": "it's"}, "/usr/bin")
	if got, want := c.Line(".ocihpc/bin/runner"), `cd && exec .ocihpc/bin/runner supervise --env 'A=it'"'"'s' -- /opt/nccl/all_reduce_perf -g 8`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCommonNetworks(t *testing.T) {
	t.Parallel()
	if got := CommonNetworks([]string{"10.0.2.0/24", "10.0.1.0/24", "10.0.2.0/24"}); !slices.Equal(got, []string{"10.0.1.0/24", "10.0.2.0/24"}) {
		t.Errorf("got %q", got)
	}
	if got := CommonNetworks([]string{"10.0.2.0/24", ""}); got != nil {
		t.Errorf("a network is unknown, got %q", got)
	}
}
