// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// put makes a file of a test's own.
func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// program makes a shell script the first of its name in PATH.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n", 0o755)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func checkOf(t *testing.T, r Report, name string) job.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %s in %+v", name, r.Checks)
	return job.Check{}
}

func TestInspectThisMachine(t *testing.T) {
	t.Parallel()
	r := Inspect(t.Context(), Request{Address: "127.0.0.1"})
	host, _ := os.Hostname()
	if r.Facts.Hostname != host || r.Facts.Kernel == "" || r.Facts.Arch == "" || r.Facts.NetworkCIDR != "127.0.0.0/8" || !slices.Contains(r.Facts.Mounts, "/") {
		t.Errorf("%+v", r.Facts)
	}
	if r.Facts.GPUs == nil || r.Checks == nil || len(r.Checks) != 0 {
		t.Errorf("GPUs %v, checks %v", r.Facts.GPUs, r.Checks)
	}
	if _, unknown := r.Facts.Unknown["nccl_tests"]; unknown != (r.Facts.NCCLTests == "") {
		t.Error("nccl-tests were neither found nor missed")
	}
}

func TestGPUs(t *testing.T) {
	const eight = `for i in 0 1 2 3 4 5 6 7; do echo "$i, NVIDIA A100-SXM4-40GB, GPU-$i, 40960, 570.86.15"; done`
	tests := map[string]struct {
		script  string
		request Request
		want    job.Outcome
		says    string
	}{
		"as the shape has":    {eight, Request{Shape: "BM.GPU4.8"}, job.Pass, "8 GPUs, as BM.GPU4.8 has"},
		"one is missing":      {strings.Replace(eight, " 7;", ";", 1), Request{Shape: "BM.GPU4.8"}, job.Fail, "7 GPUs, expected 8"},
		"driver does not run": {"echo 'NVIDIA-SMI has failed'; exit 9", Request{Shape: "BM.GPU4.8"}, job.Fail, "NVIDIA-SMI has failed"},
		"unknown shape":       {eight, Request{Shape: "BM.GPU.NEW.8"}, job.CannotTell, "not in the catalog"},
		"enough for the job":  {eight, Request{GPUsPerNode: 4}, job.Pass, "the job needs 4"},
		"not enough":          {eight, Request{GPUsPerNode: 16}, job.Fail, "the job needs 16"},
		"strange answer":      {"echo hello", Request{Shape: "BM.GPU4.8"}, job.Fail, "read the answer of nvidia-smi"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			program(t, "nvidia-smi", test.script)
			c := checkOf(t, Inspect(t.Context(), test.request), "gpu_count")
			if c.Outcome != test.want || !strings.Contains(c.Message, test.says) || (c.Outcome == job.Fail) != (c.Advice != "") && c.Outcome != job.CannotTell {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestParseGPUs(t *testing.T) {
	t.Parallel()
	got, driver, err := parseGPUs("0, NVIDIA GB200, GPU-aa, [N/A], 570.1\n1, \"A, B\", GPU-bb, 141000, 570.1\n")
	want := []job.GPU{{Index: 0, Name: "NVIDIA GB200", UUID: "GPU-aa"}, {Index: 1, Name: "A, B", UUID: "GPU-bb", MemoryBytes: 141000 << 20}}
	if err != nil || driver != "570.1" || !slices.Equal(got, want) {
		t.Errorf("%+v, %s, %v", got, driver, err)
	}
}

func FuzzParseGPUs(f *testing.F) {
	f.Add("0, NVIDIA H200, GPU-1, 143771, 570.86.15\n")
	f.Fuzz(func(t *testing.T, text string) {
		found, _, err := parseGPUs(text)
		if found == nil || (err != nil && len(found) > 0) {
			t.Errorf("%v, %v", found, err)
		}
		for _, g := range found {
			if g.Index < 0 || g.MemoryBytes < 0 {
				t.Errorf("%+v", g)
			}
		}
	})
}

func TestCloudInit(t *testing.T) {
	tests := map[string]struct {
		script string
		wait   int
		want   job.Outcome
		says   string
	}{
		"done":           {"echo 'status: done'", 5, job.Pass, "done"},
		"error":          {"echo 'status: error'; exit 1", 5, job.Fail, "error"},
		"its own words":  {`printf 'status: error\nboot_status_code: enabled-by-sysvinit\ndetail:\nUnknown user or group: x\n'; exit 1`, 5, job.Fail, "with an error: Unknown user or group: x"},
		"newer words":    {`printf 'status: error\ndetail: DataSourceOracle\nerrors:\n\t- one\n\t- two\nrecoverable_errors: {}\n'; exit 1`, 5, job.Fail, "with an error: one; two"},
		"degraded":       {"echo 'status: degraded'; exit 2", 5, job.Warn, "recovered"},
		"disabled":       {"echo 'status: disabled'", 5, job.Pass, "disabled"},
		"never finishes": {"echo 'status: running'", 1, job.Fail, "not finished after 1 seconds"},
		"no answer":      {"echo 'Traceback'; exit 1", 1, job.CannotTell, "Traceback"},
		"asked once":     {`[ ! -e $0.asked ] && touch $0.asked && echo 'status: done' || echo 'status: error'`, 5, job.Pass, "done"},
		"finishes later": {`file=$0.count; echo x >> $file; [ $(wc -l < $file) -ge 3 ] && echo 'status: done' || echo 'status: running'`, 60, job.Pass, "done"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			program(t, "cloud-init", test.script)
			c := checkOf(t, Inspect(t.Context(), Request{Checks: job.Checks{CloudInitWaitSeconds: test.wait}}), "cloud_init")
			if c.Outcome != test.want || !strings.Contains(c.Message, test.says) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestTimezone(t *testing.T) {
	t.Parallel()
	linked, copied, none := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(linked, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../usr/share/zoneinfo/Asia/Tokyo", filepath.Join(linked, "etc/localtime")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(copied, "etc/localtime"), "TZif", 0o644)
	put(t, filepath.Join(copied, "etc/timezone"), "Europe/Berlin\n", 0o644)
	for root, want := range map[string]string{linked: "Asia/Tokyo", copied: "Europe/Berlin", none: "UTC"} {
		if got, err := timezone(root); err != nil || got != want {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	}
	if err := os.Remove(filepath.Join(copied, "etc/timezone")); err != nil {
		t.Fatal(err)
	}
	if got, err := timezone(copied); err == nil {
		t.Errorf("guessed %q", got)
	}
}

func TestCheckTimezone(t *testing.T) {
	t.Parallel()
	zones := t.TempDir()
	put(t, filepath.Join(zones, "Asia/Tokyo"), "rules of Japan", 0o644)
	put(t, filepath.Join(zones, "Japan"), "rules of Japan", 0o644)
	put(t, filepath.Join(zones, "UTC"), "no rules", 0o644)
	for zone, want := range map[string]job.Outcome{"Asia/Tokyo": job.Pass, "Japan": job.Pass, "UTC": job.Fail, "Mars/Base": job.Fail} {
		if c := checkTimezone("Asia/Tokyo", job.Facts{Timezone: zone}, zones); c.Outcome != want {
			t.Errorf("%s: %+v", zone, c)
		}
	}
	if c := checkTimezone("Asia/Tokyo", job.Facts{Unknown: map[string]string{"timezone": "why"}}, zones); c.Outcome != job.CannotTell {
		t.Errorf("unknown: %+v", c)
	}
}

func TestMounts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mounts")
	put(t, file, `/dev/sda1 / xfs rw 0 0
proc /proc proc rw 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw 0 0
/dev/nvme/lvol0 /mnt/local\040disk xfs rw 0 0
10.0.0.9:/home /home nfs4 rw 0 0
/dev/sda1 / xfs rw 0 0
`, 0o644)
	got, err := mounts(file)
	if err != nil || !slices.Equal(got, []string{"/", "/home", "/mnt/local disk"}) {
		t.Errorf("%q, %v", got, err)
	}
	if c := checkMounts([]string{"/home", "/mnt/localdisk"}, job.Facts{Mounts: got}); c.Outcome != job.Fail || c.Message != "nothing is mounted on /mnt/localdisk" {
		t.Errorf("%+v", c)
	}
}

func FuzzUnescapeMount(f *testing.F) {
	f.Add(`/a\040b`)
	f.Add(`\`)
	f.Fuzz(func(t *testing.T, text string) {
		if got := unescapeMount(text); len(got) > len(text) {
			t.Errorf("%q from %q", got, text)
		}
	})
}

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"127.0.0.1": "127.0.0.0/8", "127.9.9.9": "127.0.0.0/8"} {
		if got, err := networkOf(t.Context(), address); err != nil || got != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	if got, err := networkOf(t.Context(), "localhost"); err != nil || (got != "127.0.0.0/8" && got != "::1/128") { // as the machine has it
		t.Errorf("localhost: %q, %v", got, err)
	}
	for _, address := range []string{"", "192.0.2.1"} {
		if got, err := networkOf(t.Context(), address); err == nil {
			t.Errorf("%q: %s", address, got)
		}
	}
}

func TestOpenMPI(t *testing.T) {
	program(t, "mpirun", "echo 'mpirun (Open MPI) 4.1.7a1'; echo; echo 'Report bugs to ...'")
	bin, version, err := openMPI(t.Context())
	if err != nil || version != "4.1.7a1" || !strings.HasPrefix(os.Getenv("PATH"), bin+":") {
		t.Errorf("%s, %s, %v", bin, version, err)
	}
	if compareVersions("/opt/openmpi-4.1.10/bin", "/opt/openmpi-4.1.9/bin") <= 0 {
		t.Error("4.1.10 is newer than 4.1.9")
	}
}

func TestNCCLTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"all_reduce_perf", "all_reduce_perf_mpi", "broadcast_perf_mpi", "sendrecv_perf"} {
		put(t, filepath.Join(dir, name), "", 0o755)
	}
	for want, of := range map[string]struct {
		collective string
		mpi        bool
	}{
		"all_reduce_perf":     {"all_reduce", false},
		"all_reduce_perf_mpi": {"all_reduce", true},
		"broadcast_perf_mpi":  {"broadcast", false},
		"sendrecv_perf":       {"sendrecv", true},
	} {
		if got, err := ncclTests(dir, of.collective, of.mpi); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	}
	if got, err := ncclTests(dir, "all_gather", true); err == nil {
		t.Errorf("found %q", got)
	}
}

func TestFirewallRules(t *testing.T) {
	t.Parallel()
	const open = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n\t\tct state established accept\n\t}\n"
	for name, test := range map[string]struct {
		rules string
		found bool
	}{
		"nothing":             {"", false},
		"lets through":        {open + "}\n", false},
		"drops by policy":     {"table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority 0; policy drop;\n\t}\n}\n", true},
		"rejects the rest":    {"table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority 0; policy accept;\n\t\tcounter packets 0 bytes 0 reject with icmp type host-prohibited\n\t}\n}\n", true},
		"rejects what leaves": {open + "\tchain OUTPUT {\n\t\ttype filter hook output priority 0; policy accept;\n\t\tip daddr 169.254.0.2 reject\n\t}\n}\n", false},
	} {
		if got := filteringChain(test.rules); (got != "") != test.found {
			t.Errorf("%s: %q", name, got)
		}
	}
	for rules, found := range map[string]bool{
		"-P INPUT ACCEPT\n": false,
		"-P INPUT DROP\n":   true,
		"-P INPUT ACCEPT\n-A INPUT -p tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\n": true,
	} {
		if got := filteringRule(rules); (got != "") != found {
			t.Errorf("%q: %q", rules, got)
		}
	}
}

func TestCheckUniform(t *testing.T) {
	t.Parallel()
	nodes := make([]job.NodeResult, 4)
	for i := range nodes {
		nodes[i].Facts = &job.Facts{DriverVersion: "570.1", OpenMPIVersion: "4.1.4", GPUs: make([]job.GPU, 8)}
	}
	nodes[1].Facts.DriverVersion = "565.2"
	nodes[2].Facts.OpenMPIVersion = ""
	nodes[3].Facts = nil
	CheckUniform(nodes, false, nil)
	want := []string{"pass pass pass", "warn pass pass", "pass pass cannot_tell", ""}
	for i, n := range nodes {
		var got []string
		for _, c := range n.Checks {
			got = append(got, fmt.Sprint(c.Outcome))
		}
		if strings.Join(got, " ") != want[i] {
			t.Errorf("node %d: %v", i, got)
		}
	}
	one := nodes[:1:1]
	one[0].Checks = nil
	if CheckUniform(one, false, nil); len(one[0].Checks) != 0 {
		t.Errorf("one node alone: %+v", one[0].Checks)
	}
}
