// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// What older drivers and GPUs say has other names.
func TestOlderDriver(t *testing.T) {
	t.Parallel()
	log, err := parseSMI(recorded(t, "nvidia-smi_525_a100_v100.xml"))
	if err != nil {
		t.Fatal(err)
	}
	f := findings{gpus: gpuFindings{list: log.list(), details: log.GPUs}}
	if list := f.gpus.list; len(list) != 2 || list[0] != (job.GPU{Index: 0, Name: "NVIDIA A100-SXM4-40GB", UUID: "GPU-00000000-0000-0000-0000-000000000001", MemoryBytes: 40960 << 20, VBIOS: "92.00.45.00.03"}) {
		t.Errorf("%+v", list)
	}
	want := map[string]string{
		"gpu_ecc":         "fail GPU 0: 3 uncorrectable memory errors since the last reset; GPU 1: 1 uncorrectable memory errors since the last reset",
		"gpu_row_remap":   "fail GPU 0: a memory row waits for a reset to be replaced; GPU 1: a memory page waits for a reset to be retired",
		"gpu_throttle":    "fail GPU 0: hardware halves the clocks: too hot",
		"gpu_pcie":        "fail GPU 0: the PCIe link has 8 lanes of 16",
		"gpu_persistence": "warn GPU 0: persistence mode is off",
		"gpu_clocks":      "pass application clocks are the default",
		"":                " ", // gpu_recovery: this driver does not know it
	}
	for _, c := range checkGPUHealth(f) {
		if got := fmt.Sprintf("%s %s", c.Outcome, c.Message); got != want[c.Name] {
			t.Errorf("%s: %s", c.Name, got)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("not checked: %v", want)
	}
}

// A lost GPU makes nvidia-smi hang, and then it is the check that fails, soon.
func TestHangingProgram(t *testing.T) {
	limit := commandLimit
	commandLimit = 200 * time.Millisecond
	t.Cleanup(func() { commandLimit = limit })
	program(t, "nvidia-smi", "exec sleep 600")
	c := checkOf(t, Inspect(t.Context(), Request{Shape: "BM.GPU4.8"}), "gpu_count")
	if c.Outcome != job.Fail || !strings.Contains(c.Message, "nvidia-smi did not answer within 200ms") || !strings.Contains(c.Advice, "reboot") {
		t.Errorf("%+v", c)
	}
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	_, err := within(t.Context(), time.Millisecond, func() (int, error) { <-never; return 0, nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if v := judgeSpace(space{err: err}); v.outcome != job.Fail || !strings.Contains(v.message, "does not answer") {
		t.Errorf("%+v", v)
	}
}

// The real nvidia-smi's answer is one call; the table is asked only of what does not know it.
func TestAskGPUs(t *testing.T) {
	recording, err := filepath.Abs("testdata/nvidia-smi_580_h200.xml")
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	program(t, "nvidia-smi", fmt.Sprintf("echo \"$@\" >> %s; cat %s", calls, recording))
	f := askGPUs(t.Context())
	if len(f.list) != 1 || f.list[0].Name != "NVIDIA H200" || f.list[0].MemoryBytes != 143771<<20 || f.driver != "580.159.04" || f.err != nil || f.detailsErr != nil {
		t.Errorf("%+v", f)
	}
	if text, _ := os.ReadFile(calls); string(text) != "-q -x\n" {
		t.Errorf("%q", text)
	}
}

func TestXIDs(t *testing.T) {
	t.Parallel()
	const log = `<4>[ 10.5] NVRM: Xid (PCI:0000:0f:00): 48, pid=1, DBE
[ 11.0] NVRM: Xid (PCI:0000:15:00): 13, Graphics Exception
[ 12.0] NVRM: Xid (PCI:0000:15:00): 13, Graphics Exception
[ 13.0] NVRM: Xid (PCI:0000:0f:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)
[ 14.0] NVRM: Xid (PCI:0000:0f:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)
`
	found := parseXIDs(log)
	if len(found) != 2 || found[1] != (xid{"0000:15:00", 13, "Graphics Exception", 12}) {
		t.Errorf("%+v", found) // GPU 0f was reset
	}
	f := findings{gpus: gpuFindings{list: make([]job.GPU, 1)}, xids: find(found, nil), upTime: 8000}
	if c := checkXIDs(f); c.Outcome != job.Pass || c.Message != "GPU at 0000:15:00: Xid 13, a program's kernel failed, 2 times, the last 2 hours ago" {
		t.Errorf("%+v", c)
	}
	f.xids.value = parseXIDs(strings.Join(strings.SplitAfter(log, "\n")[:4], ""))
	if c := checkXIDs(f); c.Outcome != job.Fail || !strings.Contains(c.Message, "Xid 154, the driver asks for a recovery") || c.Advice != job.AdviceResetGPU {
		t.Errorf("%+v", c)
	}
}

func TestTracking(t *testing.T) {
	t.Parallel()
	source, off, ok := parseTracking("A9FEA9FE,169.254.169.254,3,1767225600.123,-0.000012345,0.000001,0.00002,1.5,0.0,0.1,0.0003,0.0002,64.5,Normal\n")
	if source != "169.254.169.254" || off != 12345*time.Nanosecond || !ok {
		t.Errorf("%s, %s, %t", source, off, ok)
	}
	for _, text := range []string{"", "506 Cannot talk to daemon", "00000000,,0,0,0,0,0,0,0,0,1,1,0,Not synchronised", "a,b,c,d,NaN,,,,,,,,,Normal"} {
		if source, _, ok := parseTracking(text); ok || source != "" {
			t.Errorf("%q: %s", text, source)
		}
	}
}

func TestIsMachine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		files   fstest.MapFS
		machine bool
	}{
		{fstest.MapFS{"run/systemd/system/x": {}}, true},
		{fstest.MapFS{"run/systemd/system/x": {}, "run/systemd/container": {Data: []byte("systemd-nspawn\n")}}, false},
		{fstest.MapFS{}, false},
	} {
		if isMachine(test.files) != test.machine {
			t.Errorf("%v", test.files)
		}
	}
}

// The metadata service is a web server; this one answers as OCI's does.
func TestMetadata(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/opc/v2/instance/": `{"shape": "BM.GPU.H100.8", "agentConfig": {"pluginsConfig": [{"name": "Compute HPC RDMA Authentication", "desiredState": "ENABLED"}]}}`,
		"/opc/v2/host/":     `{"id": "ocid1.computebaremetalhost.oc1..h", "rackId": "r", "networkBlockId": "n", "rdmaTopologyData": {"customerHPCIslandId": "i", "customerLocalBlock": "l"}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch answer, ok := answers[r.URL.Path]; {
		case r.Header.Get("Authorization") != "Bearer Oracle":
			http.Error(w, "Forbidden", http.StatusForbidden)
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	m, err := readMetadata(t.Context(), address)
	if err != nil || m.Instance.Shape != "BM.GPU.H100.8" || m.Instance.AgentConfig.Plugins[0] != (plugin{"Compute HPC RDMA Authentication", "ENABLED"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if got := m.topology(); got == nil || *got != (job.Topology{HPCIsland: "i", NetworkBlock: "n", LocalBlock: "l", Rack: "r", Host: "ocid1.computebaremetalhost.oc1..h"}) {
		t.Errorf("%+v", got)
	}
	delete(answers, "/opc/v2/host/") // a virtual machine
	if m, err := readMetadata(t.Context(), address); err != nil || m.topology() != nil {
		t.Errorf("%+v, %v", m, err)
	}
	answers["/opc/v2/instance/"] = "<html>"
	if _, err := readMetadata(t.Context(), address); err == nil {
		t.Error("read a web page")
	}
	server.Close()
	if _, err := readMetadata(t.Context(), address); err == nil || !strings.Contains(err.Error(), "metadata service") {
		t.Error(err)
	}
}

func TestReadSpace(t *testing.T) {
	t.Parallel()
	all := readSpace(t.Context(), []string{"/", "/no/such/folder"})
	if len(all) == 0 || all[0].path != "/" || all[0].free == 0 || all[0].err != nil {
		t.Errorf("%+v", all)
	}
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.path] || s.path == "/no/such/folder" {
			t.Errorf("%+v", all)
		}
		seen[s.path] = true
	}
}

func TestCheckPorts(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	ports, ended := newLines(), make(chan error, 1)
	go func() { ended <- ListenForNodes(ctx, ports) }()
	open := net.JoinHostPort("127.0.0.1", <-ports.lines)
	tried := ConnectToNodes(t.Context(), []string{open, open})
	if len(tried) != 2 || tried[1] != (Connection{Address: open}) {
		t.Errorf("%+v", tried)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	closed := ConnectToNodes(t.Context(), []string{open})[0]
	if !strings.Contains(closed.Error, "turned away on the way") {
		t.Errorf("%+v", closed)
	}
	c := CheckPorts([]Trial{{"gpu-3", closed}, {"gpu-1", Connection{Address: open}}, {"gpu-2", closed}})
	if c.Outcome != job.Fail || !strings.HasPrefix(c.Message, "no connection from gpu-2, gpu-3 (of 3 nodes that tried) to "+open) || !strings.Contains(c.Advice, "security") {
		t.Errorf("%+v", c)
	}
	if c := CheckPorts([]Trial{{"gpu-1", Connection{Address: open}}}); c.Outcome != job.Pass {
		t.Errorf("%+v", c)
	}
	if c := CheckPorts(nil); c.Outcome != job.CannotTell {
		t.Errorf("%+v", c)
	}
}

// lines hands on what is written, line by line.
type lines struct {
	text  bytes.Buffer
	lines chan string
}

func newLines() *lines { return &lines{lines: make(chan string, 8)} }

func (l *lines) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			l.text.WriteByte(b)
			continue
		}
		l.lines <- l.text.String()
		l.text.Reset()
	}
	return len(p), nil
}

func FuzzParseSMI(f *testing.F) {
	for _, file := range []string{"nvidia-smi_580_h200.xml", "nvidia-smi_525_a100_v100.xml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		log, err := parseSMI(text)
		if err != nil {
			return
		}
		for _, g := range log.list() {
			if g.MemoryBytes < 0 {
				t.Errorf("%+v", g)
			}
		}
		for _, c := range checkGPUHealth(findings{gpus: gpuFindings{list: log.list(), details: log.GPUs}}) {
			if c.Name != "" && (c.Message == "" || c.Outcome != job.Pass && c.Advice == "") {
				t.Errorf("%+v", c)
			}
		}
	})
}

func FuzzTracking(f *testing.F) {
	f.Add("A9FEA9FE,169.254.169.254,3,1767225600.123,-0.000012345,0.000001,0.00002,1.5,0.0,0.1,0.0003,0.0002,64.5,Normal\n")
	f.Fuzz(func(t *testing.T, text string) {
		if source, off, ok := parseTracking(text); off < 0 || !ok && source != "" {
			t.Errorf("%q is off by %s", source, off)
		}
	})
}

func FuzzFirewall(f *testing.F) {
	f.Add("table ip filter {\n chain INPUT {\n type filter hook input priority 0; policy drop;\n }\n}\n")
	f.Add("-P INPUT ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\n")
	f.Fuzz(func(t *testing.T, rules string) {
		for _, found := range []string{filteringChain(rules), filteringRule(rules)} {
			if !strings.Contains(rules, found) || strings.Contains(found, "\n") {
				t.Errorf("%q is not of the rules", found)
			}
		}
	})
}

func FuzzParseXIDs(f *testing.F) {
	f.Add("[ 1.0] NVRM: Xid (PCI:0000:0f:00): 79, pid=1\nNVRM: Xid (PCI:0000:0f:00): 154, to 0x0 (None)\n")
	f.Fuzz(func(t *testing.T, text string) {
		found := parseXIDs(text)
		c := checkXIDs(findings{gpus: gpuFindings{list: make([]job.GPU, 1)}, xids: find(found, nil)})
		if c.Name != "gpu_xid" || c.Message == "" {
			t.Errorf("%+v", c)
		}
	})
}

func FuzzParseNVLinks(f *testing.F) {
	f.Add("GPU 0: NVIDIA H200 (UUID: GPU-0)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range parseNVLinks(text) {
			if l.active+l.inactive > strings.Count(text, "Link") {
				t.Errorf("%+v", l)
			}
		}
	})
}
