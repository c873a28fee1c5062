// SPDX-License-Identifier: MPL-2.0

package shape_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// published are the names that the catalog must know.
var published = []string{
	"BM.GPU.A10.4", "BM.GPU.A100-v2.8", "BM.GPU.B200.8", "BM.GPU.B300.8", "BM.GPU.B300.HS.8", "BM.GPU.B4.8",
	"BM.GPU.GB200-v2.4", "BM.GPU.GB200-v3.4", "BM.GPU.GB200.4", "BM.GPU.GB300.4", "BM.GPU.GM4.8", "BM.GPU.GU1.2",
	"BM.GPU.H100.8", "BM.GPU.H100T.8", "BM.GPU.H200.8", "BM.GPU.L40S-NC.4", "BM.GPU.L40S.4", "BM.GPU.MI300X.8",
	"BM.GPU.MI355X-v0.8", "BM.GPU.MI355X-v1.8", "BM.GPU.MI355X.8", "BM.GPU.RTXPRO.8", "BM.GPU.T1.2", "BM.GPU2.2",
	"BM.GPU3.8", "BM.GPU4.8", "BM.HPC.E5.144", "BM.HPC2.36", "BM.Optimized3.36",
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := shape.Names(); !slices.Equal(got, published) {
		t.Errorf("Names() = %q,\nwant %q", got, published)
	}
	for i, s := range shape.All() {
		if s.Name != published[i] {
			t.Errorf("All()[%d] is %s, want %s", i, s.Name, published[i])
		}
		if found, ok := shape.Lookup(s.Name); !ok || found.Name != s.Name {
			t.Errorf("Lookup(%s) = %s, %v", s.Name, found.Name, ok)
		}
	}
	if _, ok := shape.Lookup("bm.gpu4.8"); ok {
		t.Error("Lookup must be exact")
	}
}

// TestComplete holds each shape to having every value, or the reason for its absence.
func TestComplete(t *testing.T) {
	t.Parallel()
	for _, s := range shape.All() {
		values := map[string]reflect.Value{}
		collect(values, "", reflect.ValueOf(s))
		if len(values) < 28 {
			t.Fatalf("only %d values of %s are looked at", len(values), s.Name)
		}
		for _, nodes := range []int{1, 2} {
			if _, ok := s.Busbw(nodes, 1<<30); !ok {
				t.Errorf("%s: nothing on the bandwidth of %d nodes, nor why not", s.Name, nodes)
			}
		}
		for name, v := range values {
			value, confidence := v.FieldByName("V"), shape.Confidence(v.FieldByName("Confidence").String())
			if v.FieldByName("Source").String() == "" {
				t.Errorf("%s: %s has no source", s.Name, name)
			}
			switch confidence {
			case shape.High, shape.Medium, shape.Low:
			case shape.Unknown:
				if !value.IsZero() {
					t.Errorf("%s: %s is unknown and has the value %v", s.Name, name, value)
				}
			default:
				t.Errorf("%s: %s has confidence %q", s.Name, name, confidence)
			}
		}
	}
}

// collect finds every Value below a struct, by its path.
func collect(values map[string]reflect.Value, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			collect(values, path+strconv.Itoa(i), v.Index(i))
		}
	case reflect.Struct:
		if v.FieldByName("Confidence").IsValid() {
			values[path] = v
			return
		}
		for i := range v.NumField() {
			collect(values, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

func TestConsistent(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`^(NCCL|UCX|HCOLL|OMPI_MCA|IB_RX|RX)_[A-Za-z0-9_]+$`)
	for _, s := range shape.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if isGPU := strings.HasPrefix(s.Name, "BM.GPU"); isGPU != (s.GPUs.V > 0) || isGPU != (s.GPUVendor != shape.NoGPU) {
				t.Errorf("%d GPUs of vendor %q", s.GPUs.V, s.GPUVendor)
			}
			if s.GPUs.V > 0 && (!s.GPUModel.Known() || !s.GPUMemoryBytes.Known()) {
				t.Error("GPUs without model or memory")
			}
			if fields := strings.Split(s.Name, "."); s.GPUs.V > 0 && fields[len(fields)-1] != strconv.Itoa(s.GPUs.V) {
				t.Errorf("%d GPUs", s.GPUs.V)
			}
			if (s.NVMeDevices.V > 0) != s.NVMeDeviceBytes.Known() && s.NVMeDeviceBytes.Source != "no public source found" {
				t.Errorf("%d NVMe devices of %v bytes", s.NVMeDevices.V, s.NVMeDeviceBytes)
			}
			if s.RDMAPorts.Known() && s.HCAs.Known() && len(s.HCAs.V) != s.RDMAPorts.V*s.HCAsPerPort.V {
				t.Errorf("%d HCAs, but %d ports with %d each", len(s.HCAs.V), s.RDMAPorts.V, s.HCAsPerPort.V)
			}
			hcas := slices.Sorted(slices.Values(s.HCAs.V))
			if len(slices.Compact(hcas)) != len(s.HCAs.V) {
				t.Errorf("an HCA is there twice: %q", s.HCAs.V)
			}
			for _, hca := range s.HCAs.V {
				if !regexp.MustCompile(`^(mlx5|ionic)_\d+$`).MatchString(hca) {
					t.Errorf("HCA %q", hca)
				}
			}
			for name, value := range merge(s.NCCLEnv.V, s.MPIEnv.V, s.Environment()) {
				if !variable.MatchString(name) || value == "" || strings.ContainsAny(value, " \t\n'\"$") {
					t.Errorf("environment %s=%q", name, value)
				}
			}
			checkBandwidth(t, s)
			checkTopology(t, s)
		})
	}
}

// checkBandwidth wants rows of rising nodes and sizes without gaps.
func checkBandwidth(t *testing.T, s shape.Shape) {
	t.Helper()
	var last shape.Bandwidth
	for _, b := range s.AllReduce {
		follows := b.Nodes == last.Nodes+1 && b.FromBytes == 1<<30 && last.ToBytes == 0 ||
			b.Nodes == last.Nodes && b.FromBytes == last.ToBytes && b.FromBytes > last.FromBytes
		if !follows {
			t.Errorf("row %+v follows %+v", b, last)
		}
		for _, v := range []shape.Value[float64]{b.Min, b.Expected} {
			if v.Known() && (v.V <= 0 || s.GPUs.V == 0 || b.Nodes > 1 && !s.IsRDMA()) {
				t.Errorf("bandwidth %v on %d nodes", v, b.Nodes)
			}
		}
		if b.Min.Known() && b.Expected.Known() && b.Expected.V < b.Min.V {
			t.Errorf("what was measured does not pass: %+v", b)
		}
		if b.FromBytes == 1<<30 && b.Min != s.MinBusbw(b.Nodes) {
			t.Errorf("MinBusbw(%d) = %v, want %v", b.Nodes, s.MinBusbw(b.Nodes), b.Min)
		}
		if found, ok := s.Busbw(b.Nodes, b.FromBytes); !ok || found != b {
			t.Errorf("Busbw(%d, %d) = %v", b.Nodes, b.FromBytes, found)
		}
		last = b
	}
	if last.ToBytes != 0 {
		t.Errorf("the last row %+v has an end", last)
	}
	if _, ok := s.Busbw(2, 1<<20); ok {
		t.Error("nothing is published for small messages")
	}
	if limit := s.MinBusbw(3); limit.Known() || limit.Source == "" {
		t.Errorf("MinBusbw(3) = %v: nobody published one", limit)
	}
	if link := s.LinkWriteGbps; link.Known() && (!s.IsRDMA() || s.RDMAGbpsPort.Known() && link.V*float64(s.HCAsPerPort.V) > float64(s.RDMAGbpsPort.V)) {
		t.Errorf("ib_write_bw must show %v, of %v Gb/s a port", link, s.RDMAGbpsPort)
	}
	if s.LinkWriteGbps.Known() != s.LinkLatencyMicros.Known() {
		t.Error("a limit for ib_write_bw comes with one for ib_write_lat")
	}
}

// checkTopology wants the same HCAs and ports wherever they are listed.
func checkTopology(t *testing.T, s shape.Shape) {
	t.Helper()
	topology := s.Topology
	if !s.IsRDMA() && (topology.PCIBuses.Known() || topology.Interfaces.Known() || topology.GPUHCAs.Known()) {
		t.Error("RDMA ports of a shape without")
	}
	if groups := topology.GPUHCAs; groups.Known() {
		near := strings.Split(strings.Join(groups.V, ","), ",")
		if len(groups.V) != s.GPUs.V || !slices.Equal(slices.Sorted(slices.Values(near)), slices.Sorted(slices.Values(s.HCAs.V))) {
			t.Errorf("HCAs of the GPUs %q, all %q", groups.V, s.HCAs.V)
		}
	}
	for name, list := range map[string]shape.Value[[]string]{"interfaces": topology.Interfaces, "renamed": topology.RenamedInterfaces} {
		if list.Known() && len(list.V) != len(s.HCAs.V) {
			t.Errorf("%d %s, %d HCAs", len(list.V), name, len(s.HCAs.V))
		}
	}
	if n := topology.NUMANodes; n.Known() && n.V%topology.Sockets.V != 0 {
		t.Errorf("%d NUMA nodes on %d sockets", n.V, topology.Sockets.V)
	}
}

func merge(envs ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, env := range envs {
		maps.Copy(all, env)
	}
	return all
}

func TestLowIsNeverUsable(t *testing.T) {
	t.Parallel()
	for confidence, want := range map[shape.Confidence]bool{
		shape.High: true, shape.Medium: true, shape.Low: false, shape.Unknown: false, "other": false,
	} {
		if got := (shape.Value[int]{V: 1, Confidence: confidence}).Usable(); got != want {
			t.Errorf("Usable at %q = %v, want %v", confidence, got, want)
		}
	}
	h100t, _ := shape.Lookup("BM.GPU.H100T.8") // its environment is inferred, its HCAs are not
	env := h100t.Environment()
	if len(env) != 1 || !strings.HasPrefix(env["NCCL_IB_HCA"], "=mlx5_0,mlx5_1,mlx5_4,") {
		t.Errorf("environment of %s = %v", h100t.Name, env)
	}
	if h100t.MinBusbw(2).Usable() {
		t.Error("an inferred limit must not be usable")
	}
}

// TestKnownFacts pins what wrong tables elsewhere got wrong, and what results depend on most.
func TestKnownFacts(t *testing.T) {
	t.Parallel()
	hcas := map[string]string{
		"BM.GPU4.8":         "0,1,2,3,6,7,8,9,10,11,12,13,14,15,16,17",
		"BM.GPU.A100-v2.8":  "1,2,3,4,5,6,7,8,9,10,11,12,14,15,16,17",
		"BM.GPU.H100.8":     "0,1,3,4,5,6,7,8,9,10,12,13,14,15,16,17",
		"BM.GPU.H200.8":     "0,3,4,5,6,9,10,11",
		"BM.GPU.B200.8":     "0,3,4,5,6,9,10,11",
		"BM.GPU.B300.8":     "0,1,7,8,9,10,11,12,13,14,16,17,18,19,20,21",
		"BM.GPU.GB200-v2.4": "0,1,3,4",
		"BM.GPU.GB300.4":    "0,1,2,3,5,6,7,8",
		"BM.Optimized3.36":  "2",
	}
	for name, numbers := range hcas {
		s, _ := shape.Lookup(name)
		want := "=mlx5_" + strings.ReplaceAll(numbers, ",", ",mlx5_")
		if got := s.Environment()["NCCL_IB_HCA"]; got != want {
			t.Errorf("%s: NCCL_IB_HCA = %s, want %s", name, got, want)
		}
	}
	a100, _ := shape.Lookup("BM.GPU4.8")
	want := map[string]string{
		"NCCL_IB_GID_INDEX": "3", "NCCL_IB_TC": "41", "NCCL_IB_SL": "0", "NCCL_IB_QPS_PER_CONNECTION": "4",
		"NCCL_IB_HCA": a100.Environment()["NCCL_IB_HCA"],
	}
	if got := a100.Environment(); !maps.Equal(got, want) {
		t.Errorf("environment of BM.GPU4.8 = %v, want %v", got, want)
	}
	gpu3, _ := shape.Lookup("BM.GPU3.8")
	if gpu3.IsRDMA() || !a100.IsRDMA() || len(gpu3.Environment()) != 0 {
		t.Error("BM.GPU3.8 has no RDMA network, BM.GPU4.8 has")
	}
	gb200, _ := shape.Lookup("BM.GPU.GB200.4")
	if gid, set := gb200.Environment()["NCCL_IB_GID_INDEX"]; set {
		t.Errorf("GB200 leaves the GID index to NCCL, got %s", gid)
	}
}

func TestEnvironmentIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	s, _ := shape.Lookup("BM.GPU.H100.8")
	s.Environment()["NCCL_IB_TC"] = "0"
	if got := s.Environment()["NCCL_IB_TC"]; got != "41" {
		t.Errorf("a caller changed the catalog: NCCL_IB_TC = %s", got)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"BM.GPU4.8":        "BM.GPU4.8",
		"bm.gpu4.8":        "BM.GPU4.8",
		" BM.GPU4.8":       "BM.GPU4.8",
		"BM.GPU.4.8":       "BM.GPU4.8",
		"BM.GPU.H100":      "BM.GPU.H100.8",
		"BM.GPUH200.8":     "BM.GPU.H200.8",
		"BM.Optimised3.36": "BM.Optimized3.36",
		"VM.Standard.E5":   "",
		"":                 "",
		"日本語":              "",
	} {
		got, ok := shape.Suggest(typed)
		if ok != (want != "") || got != want {
			t.Errorf("Suggest(%q) = %q, %v; want %q", typed, got, ok, want)
		}
	}
}
