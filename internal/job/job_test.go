// SPDX-License-Identifier: MPL-2.0

package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fullJob has every field set, so that the schema is held against all of them.
func fullJob() Job {
	minimum := 1.5
	return Job{
		Version: Version, Shape: "BM.GPU4.8", TimeoutSeconds: 3600, MaxAgeSeconds: 86400,
		Nodes: []Node{
			{ID: "ocid1.instance.oc1..a", Name: "inst-abcde-gpu", Address: "10.0.1.2", HostKey: ""},
			{Name: "gpu-2", Address: "gpu-2.subnet.vcn.oraclevcn.com", HostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA=="},
		},
		SSH:      SSH{User: "opc", Port: 22},
		Checks:   Checks{Timezone: "Asia/Tokyo", Mounts: []string{"/mnt/localdisk"}, FirewallOff: true, CloudInitWaitSeconds: 600, Skip: []string{"gpu_xid"}},
		Triggers: map[string]string{"image": "ocid1.image"},
		Setup: &Setup{
			Steps: []Step{
				{Name: "motd", File: &FileStep{Path: "/etc/motd", Content: "hello\n", Mode: "0644", Owner: "root:root"}},
				{Name: "scratch", Directory: &DirectoryStep{Path: "/mnt/scratch", Mode: "1777", Owner: "opc"}},
				{Name: "data", Link: &LinkStep{Path: "/data", Target: "/mnt/scratch"}},
				{Name: "swapoff", Command: &CommandStep{Argv: []string{"swapoff", "-a"}, Unless: []string{"test", "-z", ""}, Creates: "/var/lib/ocihpc/swapoff"}},
				{Name: "tools", Packages: &PackagesStep{Names: []string{"numactl", "git"}}},
				{Name: "chrony", Service: &ServiceStep{Unit: "chronyd.service", Off: true}},
				{Name: "kit", Download: &DownloadStep{
					URL: "https://example.com/kit.tgz", SHA256: strings.Repeat("0a", 32), Path: "/opt/kit.tgz", Mode: "0600", Owner: "opc",
				}},
			},
			ContainerRuntime: &ContainerRuntime{
				Engine: Containerd, RootlessUser: "opc", Versions: map[string]string{"containerd": "2.2.0"}, Mirror: "http://10.0.1.2:8080/mirror",
				DataRoot: "/mnt/localdisk/containers", InsecureRegistries: []string{"10.0.0.2:5000"}, Images: []string{"nvcr.io/nvidia/pytorch:24.01-py3"}, ShareImages: true,
				ProofImage: "nvcr.io/nvidia/pytorch:24.01-py3", Remove: true,
			},
			MaxSessions: 8, MaxDownloads: 4, MaxUploads: 3, MaxTransfers: 1, LockWaitSeconds: 5, ReconnectSeconds: 60,
		},
		Benchmark: &Benchmark{
			Launcher: LauncherSlurm, Slurm: fullSlurm(),
			Pattern: PatternAll, MaxRuns: 9, Collective: "all_reduce", MinSizeBytes: 8, MaxSizeBytes: 1 << 30, StepFactor: 2, DataType: "float", RedOp: "sum",
			Iterations: 20, WarmupIterations: 5, GPUsPerNode: 8, NCCLTestsDir: "/opt/oci-hpc/nccl-test/build",
			Environment: map[string]string{"NCCL_DEBUG": "WARN"}, TimeoutSeconds: 600,
			Expect: Expectation{MinBusbwGBPerS: &minimum, AtLeastBytes: 1 << 20, Limits: []Limit{
				{FromBytes: 8, ToBytes: 64, MinBusbwGBPerS: &minimum, WarnBusbwGBPerS: &minimum},
			}}, ExpectPerNode: Expectation{MinBusbwGBPerS: &minimum},
			Tuning:  &Tuning{Settings: map[string][]string{"NCCL_ALGO": {"Ring"}}, MaxRuns: 8, MinGainPercent: 3},
			Repeats: 3, Transport: TransportRDMA, Baseline: &Baseline{
				Collective: "all_reduce", Ranks: 16, Hosts: 2, MaxRegressionPercent: &minimum, WarnRegressionPercent: &minimum, AtLeastBytes: 1 << 20,
				Sizes: []SizeSummary{{SizeBytes: 1 << 30, OutOfPlace: NewSpread([]float64{440, 441}), InPlace: NewSpread([]float64{440})}},
			},
		},
	}
}

func fullResult() Result {
	number, number01, root, rail, wrong, gdr := 12.5, 0.05, -1, 3, int64(0), true
	placement := &Placement{TimeUS: &number, AlgbwGBPerS: &number, BusbwGBPerS: &number, WrongResults: &wrong, Iterations: &Iterations{
		MinUS: &number, MaxUS: &number, AvgUS: &number, P50US: &number, P95US: &number, P99US: &number, StdevUS: &number, CVPercent: &number,
		Skipped: &wrong, TimesUS: []float64{1, 2}, ProcessMaxTimesUS: [][]float64{{1}, {2}},
	}}
	limits := []AppliedLimit{{Limit: Limit{FromBytes: 8, ToBytes: 64, MinBusbwGBPerS: &number, WarnBusbwGBPerS: &number}, Origin: OriginUser, Sizes: 2}}
	failure := &Failure{Kind: "too_slow", Message: "m", Node: "gpu-2", Advice: "a"}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	return Result{
		Version: Version, Key: fullJob().Key(), Outcome: Fail, Failure: failure, StartedAt: now, FinishedAt: now,
		Tuned: &Tuned{Environment: map[string]string{"NCCL_ALGO": "Ring"}, SizeBytes: 8, Default: NewSpread([]float64{1}), Best: NewSpread([]float64{2}),
			GainPercent: new(100.0), PValue: new(0.01), Conclusion: "c", Trials: []Trial{{Environment: map[string]string{}, BusbwGBPerS: new(1.0)}, {Environment: map[string]string{}, Problem: "p"}}},
		Suspects:     []Suspect{{Kind: SuspectGPU, Nodes: []string{"gpu-1"}, Index: &rail, Confidence: Certain, Symptom: SymptomUnsteady, Evidence: []string{"e"}, Replace: true}},
		ReplaceNodes: []string{"ocid1.instance.oc1..a"}, Conclusion: "c",
		Nodes: []NodeResult{
			{Name: "gpu-1", Address: "10.0.1.2", Checks: []Check{{Name: "gpu_count", Outcome: Warn, Message: "m", Advice: "a"}}, Facts: &Facts{
				CloudInitDetail: "d",
				GPUs:            []GPU{{Index: 1, Name: "NVIDIA H200", UUID: "GPU-1", MemoryBytes: 1 << 37, VBIOS: "96.00"}}, HCAs: []HCA{{Name: "mlx5_0", Interface: "rdma0", State: "ACTIVE", RateGbps: 400, Firmware: "28.40"}},
				Topology: &Topology{HPCIsland: "i", NetworkBlock: "n", LocalBlock: "l", Rack: "r", Host: "h"}, Mounts: []string{"/"}, Unknown: map[string]string{"os": "why"},
			}, Setup: &NodeSetup{
				Steps:  []StepResult{{Name: "motd", Title: "Write /etc/motd", Outcome: StepFailed, Seconds: 0.5, Message: "m", Output: "o", Advice: "a"}},
				Engine: Containerd, Versions: map[string]string{"runc": "1.3.3"}, Images: map[string]string{"a/b:1": "sha256:00"}, GPUs: []string{"GPU 0: H200"},
				Failure: failure,
			}},
			{Name: "gpu-2", Address: "10.0.1.3", Checks: []Check{}},
		},
		Runs: []Measurement{{
			Scope: ScopeRail, Purpose: "p", Rail: &rail, Nodes: []string{"gpu-1", "gpu-2"}, Outcome: Fail, Failure: failure, Command: []string{"mpirun"},
			Environment: map[string]string{"A": "b"}, ExitStatus: 7, Seconds: 1.5, LogFile: "all_nodes.log", LogSHA256: strings.Repeat("0f", 32),
			Repeat: 1, Limits: limits, Remarks: []string{"r"}, NCCL: &NCCLLog{
				Version: "2.28.3+cuda13.0", Network: "IB", Plugin: "p", Devices: []string{"mlx5_0:1/RoCE"}, Channels: map[string]int{"NET/IB": 2},
				GPUDirectRDMA: &gdr, GIDIndexes: []int{3}, NoRDMADevice: true, QueuePairs: 4, NVLSChannels: &root, Settings: map[string]string{"NCCL_NVLS_ENABLE": "0"},
				Warnings: []NCCLWarning{{Host: "gpu-1", Message: "w"}},
			},
			Report: &Report{
				Collective: "all_reduce", NCCLTestsVersion: "2.19.6", Ranks: []Rank{{Rank: 0, Host: "gpu-1", Device: 1, Name: "NVIDIA H200"}},
				Rows:           []Row{{SizeBytes: 8, Count: 2, Type: "float", RedOp: "sum", Root: &root, OutOfPlace: placement, InPlace: placement}, {SizeBytes: 16}},
				AvgBusbwGBPerS: &number, OutOfBounds: &wrong, Complete: true,
			},
		}},
		Summaries: []Summary{{
			Scope: ScopeAll, Nodes: []string{"gpu-1", "gpu-2"}, Outcome: Fail, Failure: failure, Repeats: 2, Runs: 2, Collective: "all_reduce", Ranks: 16, Hosts: 2,
			Sizes: []SizeSummary{{SizeBytes: 8, OutOfPlace: NewSpread([]float64{1, 2}), InPlace: NewSpread([]float64{1, 2})}}, Limits: limits, Remarks: []string{"r"},
			Regressions: []Regression{{SizeBytes: 8, Placement: "in_place", BaselineGBPerS: 2, BusbwGBPerS: 1, SlowerPercent: 50, PValue: &number01, Outcome: Fail}},
		}},
	}
}

func compile(t *testing.T, which []byte) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	id := ""
	for _, schema := range [][]byte{JobSchema, ResultSchema, EventSchema} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		its := doc.(map[string]any)["$id"].(string)
		if err := compiler.AddResource(its, doc); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(schema, which) {
			id = its
		}
	}
	compiled, err := compiler.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func instance(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemasAcceptWhatIsWritten(t *testing.T) {
	t.Parallel()
	minimal := Job{Version: Version, Nodes: []Node{{Name: "a", Address: "b"}}, SSH: SSH{User: "opc", Port: 22}, TimeoutSeconds: 1}
	result := fullResult()
	empty := Result{Version: Version, Outcome: CouldNotRun, Nodes: []NodeResult{}, Runs: []Measurement{}}
	for _, test := range []struct {
		name   string
		schema []byte
		value  any
	}{
		{"full job", JobSchema, fullJob()},
		{"minimal job", JobSchema, minimal},
		{"full result", ResultSchema, result},
		{"empty result", ResultSchema, empty},
		{"event", EventSchema, Event{Type: EventNode, Phase: PhaseCheck, Node: "gpu-1", Outcome: CannotTell, Message: "m", Done: 1, Total: 2}},
		{"step event", EventSchema, Event{Type: EventStep, Phase: PhaseSetUp, Node: "gpu-1", Step: &result.Nodes[0].Setup.Steps[0], Done: 1, Total: 2}},
		{"result event", EventSchema, Event{Type: EventResult, Outcome: Fail, Result: &result}},
	} {
		if err := compile(t, test.schema).Validate(instance(t, test.value)); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A field that is added to the types and not to the schema, or the other way round, is found by this: every
// property of the schema is in the full document, and additional ones are refused.
// dryRun is fullJob with the field that a job with a benchmark may not have.
func dryRun() Job {
	j := fullJob()
	j.Setup.DryRun, j.Benchmark = true, nil
	return j
}

func TestSchemasKnowEveryField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema []byte
		value  any
	}{"job": {JobSchema, []Job{fullJob(), dryRun(), inContainers(), fromGit()}}, "result": {ResultSchema, fullResult()}} {
		written := map[string]bool{}
		collectKeys(instance(t, test.value), written)
		var schema any
		if err := json.Unmarshal(test.schema, &schema); err != nil {
			t.Fatal(err)
		}
		properties := map[string]bool{}
		collectProperties(schema, properties)
		for _, property := range slices.Sorted(maps.Keys(properties)) {
			if !written[property] {
				t.Errorf("%s: the schema's %s is in no full document", name, property)
			}
		}
	}
}

func collectKeys(v any, keys map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			keys[key] = true
			collectKeys(value, keys)
		}
	case []any:
		for _, value := range v {
			collectKeys(value, keys)
		}
	}
}

func collectProperties(v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				found[name] = true
			}
		}
		for _, value := range v {
			collectProperties(value, found)
		}
	case []any:
		for _, value := range v {
			collectProperties(value, found)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(fullJob())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(bytes.NewReader(text))
	if err != nil || got.Key() != fullJob().Key() {
		t.Fatalf("%v: %+v", err, got)
	}
	if _, err := Decode(strings.NewReader(strings.Replace(string(text), `"version":1`, `"version":2`, 1))); !errors.Is(err, ErrVersion) {
		t.Errorf("version 2: %v", err)
	}
	for name, bad := range map[string]string{
		"nothing":       "",
		"no object":     "[]",
		"unknown field": strings.Replace(string(text), `"shape"`, `"shap":"x","shape"`, 1),
		"more text":     string(text) + "{}",
		"wrong type":    strings.Replace(string(text), `"port":22`, `"port":"22"`, 1),
	} {
		if _, err := Decode(strings.NewReader(bad)); err == nil || errors.Is(err, ErrVersion) && name != "nothing" && name != "no object" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	negative := -1.0
	tests := map[string]struct {
		spoil func(*Job)
		says  string
	}{
		"version":             {func(j *Job) { j.Version = 3 }, "version is 3"},
		"no nodes":            {func(j *Job) { j.Nodes = nil }, "nodes is empty"},
		"same name":           {func(j *Job) { j.Nodes[1].Name = j.Nodes[0].Name }, "used twice"},
		"same address":        {func(j *Job) { j.Nodes[1].Address = j.Nodes[0].Address }, "used twice"},
		"option as address":   {func(j *Job) { j.Nodes[1].Address = "-oProxyCommand=x" }, "address"},
		"slots in address":    {func(j *Job) { j.Nodes[1].Address = "10.0.0.1:64" }, "address"},
		"list as address":     {func(j *Job) { j.Nodes[1].Address = "10.0.0.1,10.0.0.2" }, "address"},
		"shell in address":    {func(j *Job) { j.Nodes[1].Address = "$(reboot)" }, "address"},
		"folder in name":      {func(j *Job) { j.Nodes[1].Name = "../../etc/passwd" }, "name"},
		"blank in name":       {func(j *Job) { j.Nodes[1].Name = "a b" }, "name"},
		"newline in name":     {func(j *Job) { j.Nodes[1].Name = "a\n" }, "name"},
		"no host key":         {func(j *Job) { j.Nodes[1].HostKey = "" }, "host_key"},
		"two host keys":       {func(j *Job) { j.Nodes[1].HostKey += "\nssh-rsa AAAA" }, "host_key"},
		"user":                {func(j *Job) { j.SSH.User = "opc -x" }, "login name"},
		"port":                {func(j *Job) { j.SSH.Port = 70000 }, "ssh.port"},
		"no time":             {func(j *Job) { j.TimeoutSeconds = 0 }, "timeout_seconds"},
		"timezone":            {func(j *Job) { j.Checks.Timezone = "../Tokyo" }, "timezone"},
		"relative mount":      {func(j *Job) { j.Checks.Mounts = []string{"mnt"} }, "mounts"},
		"mount with dots":     {func(j *Job) { j.Checks.Mounts = []string{"/mnt/../etc"} }, "mounts"},
		"skip of no check":    {func(j *Job) { j.Checks.Skip = []string{"gpu_mood"} }, "no check \"gpu_mood\""},
		"negative wait":       {func(j *Job) { j.Checks.CloudInitWaitSeconds = -1 }, "cloud_init_wait"},
		"collective":          {func(j *Job) { j.Benchmark.Collective = "../sh" }, "collective"},
		"data type":           {func(j *Job) { j.Benchmark.DataType = "-x" }, "data_type"},
		"redop":               {func(j *Job) { j.Benchmark.RedOp = "a b" }, "redop"},
		"sizes":               {func(j *Job) { j.Benchmark.MaxSizeBytes = 4 }, "no range"},
		"size zero":           {func(j *Job) { j.Benchmark.MinSizeBytes = 0 }, "no range"},
		"step":                {func(j *Job) { j.Benchmark.StepFactor = 1 }, "step_factor"},
		"iterations":          {func(j *Job) { j.Benchmark.Iterations = 0 }, "iteration"},
		"gpus":                {func(j *Job) { j.Benchmark.GPUsPerNode = -1 }, "gpus_per_node"},
		"relative nccl-tests": {func(j *Job) { j.Benchmark.NCCLTestsDir = "build" }, "nccl_tests_dir"},
		"variable":            {func(j *Job) { j.Benchmark.Environment = map[string]string{"A=B": "c"} }, "name of a variable"},
		"line break in value": {func(j *Job) { j.Benchmark.Environment = map[string]string{"A": "b\nc"} }, "line break"},
		"expectation":         {func(j *Job) { j.Benchmark.Expect.MinBusbwGBPerS = &negative }, "expect"},
		"pattern":             {func(j *Job) { j.Benchmark.Pattern = "triples" }, "triples"},
		"number of runs":      {func(j *Job) { j.Benchmark.MaxRuns = -1 }, "max_runs"},
		"limit's range":       {func(j *Job) { j.Benchmark.Expect.Limits[0].ToBytes = 8 }, "no range"},
		"limit of nothing":    {func(j *Job) { j.Benchmark.Expect.Limits[0] = Limit{} }, "limits nothing"},
		"warning below limit": {func(j *Job) { j.Benchmark.Expect.Limits[0].WarnBusbwGBPerS = new(float64) }, "never comes"},
		"repeats":             {func(j *Job) { j.Benchmark.Repeats = 31 }, "repeats"},
		"empty baseline":      {func(j *Job) { j.Benchmark.Baseline.Sizes = nil }, "no sizes"},
		"baseline of nothing": {func(j *Job) { j.Benchmark.Baseline.Sizes[0] = SizeSummary{} }, "no bus bandwidth"},
		"negative baseline":   {func(j *Job) { j.Benchmark.Baseline.Sizes[0].InPlace.Median = -1 }, "negative"},
		"regression":          {func(j *Job) { j.Benchmark.Baseline.MaxRegressionPercent = &negative }, "percent"},
		"tuning pattern":      {func(j *Job) { j.Benchmark.Pattern, j.Benchmark.Tuning = PatternPairs, &Tuning{} }, "pattern pairs does not have"},
		"tuning values":       {func(j *Job) { j.Benchmark.Tuning = &Tuning{Settings: map[string][]string{"A": {"x;y"}}} }, "a value of A"},
		"tuning name":         {func(j *Job) { j.Benchmark.Tuning = &Tuning{Settings: map[string][]string{"a-b": {"x"}}} }, "tuning.settings"},
		"transport":           {func(j *Job) { j.Benchmark.Transport = "ib" }, "transport"},
		"empty set-up":        {func(j *Job) { j.Setup = &Setup{} }, "asks for nothing"},
		"negative transfers":  {func(j *Job) { j.Setup.MaxTransfers = -1 }, "max_transfers"},
		"negative limit":      {func(j *Job) { j.Setup.MaxDownloads = -1 }, "max_downloads"},
		"step's name":         {func(j *Job) { j.Setup.Steps[0].Name = "a b" }, "plain word"},
		"two steps, one name": {func(j *Job) { j.Setup.Steps[0].Name = "data" }, "used twice"},
		"step of nothing":     {func(j *Job) { j.Setup.Steps[0].File = nil }, "exactly one"},
		"step of two":         {func(j *Job) { j.Setup.Steps[0].Link = j.Setup.Steps[2].Link }, "exactly one"},
		"mode":                {func(j *Job) { j.Setup.Steps[0].File.Mode = "rw-r--r--" }, "octal"},
		"owner":               {func(j *Job) { j.Setup.Steps[1].Directory.Owner = "-R" }, "user:group"},
		"step's path":         {func(j *Job) { j.Setup.Steps[0].File.Path = "etc/motd" }, "absolute"},
		"no target":           {func(j *Job) { j.Setup.Steps[2].Link.Target = "" }, "target"},
		"no program":          {func(j *Job) { j.Setup.Steps[3].Command.Argv = nil }, "program"},
		"no proof":            {func(j *Job) { c := j.Setup.Steps[3].Command; c.Unless, c.Creates = nil, "" }, "unless or creates"},
		"option as package":   {func(j *Job) { j.Setup.Steps[4].Packages.Names[0] = "--purge" }, "package"},
		"no package":          {func(j *Job) { j.Setup.Steps[4].Packages.Names = nil }, "names is empty"},
		"option as unit":      {func(j *Job) { j.Setup.Steps[5].Service.Unit = "-H" }, "unit"},
		"file as download":    {func(j *Job) { j.Setup.Steps[6].Download.URL = "file:///etc/shadow" }, "http or https"},
		"secret in download":  {func(j *Job) { j.Setup.Steps[6].Download.URL = "https://me:hush@example.com/" }, "credentials"},
		"digest":              {func(j *Job) { j.Setup.Steps[6].Download.SHA256 = "00" }, "SHA-256"},
		"engine":              {func(j *Job) { j.Setup.ContainerRuntime.Engine = "lxc" }, "engine"},
		"rootless root":       {func(j *Job) { j.Setup.ContainerRuntime.RootlessUser = "root" }, "plain user"},
		"version of engine":   {func(j *Job) { j.Setup.ContainerRuntime.Versions["runc"] = "latest" }, "runc"},
		"mirror":              {func(j *Job) { j.Setup.ContainerRuntime.Mirror = "ftp://x" }, "mirror"},
		"secret in mirror":    {func(j *Job) { j.Setup.ContainerRuntime.Mirror = "https://me:hush@x/" }, "credentials"},
		"data root":           {func(j *Job) { j.Setup.ContainerRuntime.DataRoot = "x" }, "data_root"},
		"image":               {func(j *Job) { j.Setup.ContainerRuntime.Images = []string{"--help"} }, "image"},
		"insecure registry":   {func(j *Job) { j.Setup.ContainerRuntime.InsecureRegistries = []string{"http://a"} }, "insecure_registries"},
		"proof image":         {func(j *Job) { j.Setup.ContainerRuntime.ProofImage = "a b" }, "proof_image"},
		"measured dry run":    {func(j *Job) { j.Setup.DryRun = true }, "dry run"},
		"run's time":          {func(j *Job) { j.Benchmark.TimeoutSeconds = 0 }, "benchmark.timeout_seconds"},
	}
	for name, test := range tests {
		j := fullJob()
		test.spoil(&j)
		if err := j.Validate(); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := fullJob()
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	good.Benchmark.DataType, good.Benchmark.RedOp = "", ""
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	key := fullJob().Key()
	for name, test := range map[string]struct {
		change func(*Job)
		same   bool
	}{
		"time limit":     {func(j *Job) { j.TimeoutSeconds++ }, true},
		"run's limit":    {func(j *Job) { j.Benchmark.TimeoutSeconds++ }, true},
		"host key":       {func(j *Job) { j.Nodes[0].HostKey = "ssh-ed25519 AAAA" }, true},
		"sessions":       {func(j *Job) { j.Setup.MaxSessions++ }, true},
		"waits":          {func(j *Job) { j.Setup.LockWaitSeconds, j.Setup.ReconnectSeconds = 1, 1 }, true},
		"step":           {func(j *Job) { j.Setup.Steps[0].File.Content = "other" }, false},
		"dry run":        {func(j *Job) { j.Setup.DryRun = true }, false},
		"replaced node":  {func(j *Job) { j.Nodes[0].ID = "ocid1.instance.oc1..b" }, false},
		"expectation":    {func(j *Job) { j.Benchmark.Expect.AtLeastBytes++ }, false},
		"trigger":        {func(j *Job) { j.Triggers["image"] = "other" }, false},
		"order of nodes": {func(j *Job) { slices.Reverse(j.Nodes) }, false},
	} {
		j := fullJob()
		test.change(&j)
		if same := j.Key() == key; same != test.same {
			t.Errorf("%s: the same key is %v", name, same)
		}
	}
}

func TestSecretsAreNotInMessages(t *testing.T) {
	t.Parallel()
	j := fullJob()
	j.Setup.Steps[6].Download.URL = "https://me:hush@example.com/"
	j.Setup.ContainerRuntime.Mirror = "https://me:hush@example.com/"
	if err := j.Validate(); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("%v", err)
	}
}

func TestNodeSetupOutcome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setup *NodeSetup
		want  Outcome
	}{
		"none asked for": {nil, Pass},
		"done":           {&NodeSetup{Steps: []StepResult{{Outcome: StepChanged}}}, Pass},
		"step failed":    {&NodeSetup{Failure: &Failure{Kind: KindStepFailed}}, Fail},
		"node lost":      {&NodeSetup{Failure: &Failure{Kind: "unreachable"}}, CouldNotRun},
	} {
		if got := test.setup.Outcome(); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
		r := Result{Nodes: []NodeResult{{Name: "a", Facts: &Facts{}, Setup: test.setup}}}
		if got := r.NodeOutcome("a"); got != test.want {
			t.Errorf("%s, as the node's: %s", name, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	text, err := json.Marshal(fullJob())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		again, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Decode(bytes.NewReader(again)); err != nil || back.Key() != j.Key() {
			t.Errorf("%s: %v", again, err)
		}
		for _, n := range j.Nodes {
			if strings.ContainsAny(n.Name+n.Address, "/ \t\n,:;'\"$`\\") || strings.HasPrefix(n.Address, "-") {
				t.Errorf("node %+v", n)
			}
		}
	})
}

func TestCheckKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range CheckKinds {
		if seen[k.Name] || k.Looks == "" || k.Advice == "" {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
		if found, ok := CheckKindOf(k.Name); !ok || found != k {
			t.Errorf("%s: %+v", k.Name, found)
		}
	}
	if _, ok := CheckKindOf("gpu"); ok {
		t.Error("a check that there is not")
	}
}
