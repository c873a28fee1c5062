// SPDX-License-Identifier: MPL-2.0

package job

import (
	"strings"
	"testing"
)

func fullSlurm() *Slurm {
	return &Slurm{
		Partition: "gpu,spare", Account: "ops", QOS: "high", Constraint: "roce&[rack1|rack2]", Reservation: "acceptance", GRES: "gpu:8",
		TimeLimitSeconds: 900, QueueSeconds: 600, MPI: SlurmPMIx, Image: "nvcr.io#nvidia/pytorch:24.01-py3", Mounts: []string{"/mnt/share:/data:ro"},
		Options: []string{"--comment=acceptance", "--segment=2", "--contiguous"}, SharedDir: "/mnt/share/benchmarks",
	}
}

func fullContainer() *Container {
	return &Container{
		Engine: Docker, Image: "nvcr.io/nvidia/pytorch:24.01-py3", Rootless: true, Mounts: []string{"/mnt/share:/data:ro", "/a:/b"}, Devices: []string{"/dev/gdrdrv"},
		GPUs: GPUsByOption, ShmSizeBytes: 1 << 30, Ulimits: map[string]int64{"nofile": 65536, "memlock": -1},
	}
}

// inContainers has what does not go with Slurm.
func inContainers() Job {
	return benchmarkJob(2, func(j *Job) {
		j.Benchmark.Container, j.Benchmark.NCCLTestsDir = fullContainer(), ""
		j.Benchmark.NCCLTestsSource = &NCCLTestsSource{
			ArchiveURL: "https://example.com/nccl-tests.tar.gz", SHA256: strings.Repeat("0a", 32), Make: map[string]string{"CUDA_HOME": "/usr/local/cuda"}, Always: true,
		}
	})
}

// fromGit has what does not go with an archive.
func fromGit() Job {
	j := inContainers()
	j.Benchmark.NCCLTestsSource = &NCCLTestsSource{GitURL: "https://github.com/NVIDIA/nccl-tests.git", GitRef: "v2.17.1"}
	return j
}

func benchmarkJob(nodes int, change func(*Job)) Job {
	j := fullJob()
	j.Nodes = j.Nodes[:nodes]
	j.Benchmark.Launcher, j.Benchmark.Slurm = LauncherAuto, nil
	j.Benchmark.Container = nil
	change(&j)
	return j
}

func TestLauncherIsValidated(t *testing.T) {
	t.Parallel()
	slurm := func(change func(*Slurm)) func(*Job) {
		return func(j *Job) {
			j.Benchmark.Launcher, j.Benchmark.Slurm = LauncherSlurm, fullSlurm()
			change(j.Benchmark.Slurm)
		}
	}
	container := func(change func(*Container)) func(*Job) {
		return func(j *Job) {
			j.Benchmark.Container = fullContainer()
			change(j.Benchmark.Container)
		}
	}
	source := func(s NCCLTestsSource) func(*Job) {
		return func(j *Job) { j.Benchmark.NCCLTestsDir, j.Benchmark.NCCLTestsSource = "", &s }
	}
	for name, test := range map[string]struct {
		nodes  int
		change func(*Job)
		want   string // empty: valid
	}{
		"single on one node": {1, func(j *Job) { j.Benchmark.Launcher = LauncherSingle }, ""},
		"single on each node": {2, func(j *Job) {
			j.Benchmark.Launcher, j.Benchmark.Pattern, j.Benchmark.Tuning = LauncherSingle, PatternPerNode, nil
		}, ""},
		"single over nodes":         {2, func(j *Job) { j.Benchmark.Launcher = LauncherSingle }, "set benchmark.pattern to per_node"},
		"mpirun on one node":        {1, func(j *Job) { j.Benchmark.Launcher = LauncherMPIRun }, ""},
		"no such launcher":          {1, func(j *Job) { j.Benchmark.Launcher = "lsf" }, `"lsf" is not one of`},
		"slurm without settings":    {2, func(j *Job) { j.Benchmark.Launcher = LauncherSlurm }, ""},
		"slurm settings, no slurm":  {2, func(j *Job) { j.Benchmark.Slurm = &Slurm{} }, "is for launcher slurm"},
		"all settings":              {2, slurm(func(*Slurm) {}), ""},
		"chosen nodes":              {1, func(j *Job) { slurm(func(s *Slurm) { s.Nodes = 4 })(j); j.Benchmark.Pattern = "" }, ""},
		"chosen nodes, by pairs":    {1, func(j *Job) { slurm(func(s *Slurm) { s.Nodes = 4 })(j); j.Benchmark.Pattern = PatternPairs }, "lets Slurm choose them"},
		"chosen nodes, and named":   {2, slurm(func(s *Slurm) { s.Nodes = 4 }), "name the node alone"},
		"chosen nodes, GPUs unsaid": {1, func(j *Job) { slurm(func(s *Slurm) { s.Nodes = 4 })(j); j.Benchmark.GPUsPerNode = 0 }, "gpus_per_node is needed"},
		"line break in a word":      {2, slurm(func(s *Slurm) { s.Account = "a\n#SBATCH --uid=0" }), "account"},
		"an option in a word":       {2, slurm(func(s *Slurm) { s.Partition = "gpu --uid=0" }), "partition"},
		"own option":                {2, slurm(func(s *Slurm) { s.Options = []string{"--output=/etc/passwd"} }), "--output is set by the runner"},
		"option with a blank":       {2, slurm(func(s *Slurm) { s.Options = []string{"--comment=a b"} }), "not of the form"},
		"short option":              {2, slurm(func(s *Slurm) { s.Options = []string{"-D/tmp"} }), "not of the form"},
		"mpirun in a container":     {2, slurm(func(s *Slurm) { s.MPI = SlurmMPIRun }), "use pmi2 or pmix"},
		"mounts without image":      {2, slurm(func(s *Slurm) { s.Image = "" }), "name an image"},
		"no such mpi":               {2, slurm(func(s *Slurm) { s.MPI = "lam" }), "not pmix, pmi2 or mpirun"},
		"a container":               {2, container(func(*Container) {}), ""},
		"a container of Slurm's":    {2, func(j *Job) { container(func(*Container) {})(j); j.Benchmark.Launcher = LauncherSlurm }, "slurm.image"},
		"no such engine":            {2, container(func(c *Container) { c.Engine = "lxc" }), `"lxc" is not one of`},
		"no image":                  {2, container(func(c *Container) { c.Image = "" }), "image"},
		"option as image":           {2, container(func(c *Container) { c.Image = "--privileged" }), "image"},
		"mount over the runner":     {2, container(func(c *Container) { c.Mounts = []string{"/x:/ocihpc/job"} }), "runner's own place"},
		"relative mount":            {2, container(func(c *Container) { c.Mounts = []string{"x:/y"} }), "mounts"},
		"device":                    {2, container(func(c *Container) { c.Devices = []string{"/etc/shadow"} }), "devices"},
		"ulimit":                    {2, container(func(c *Container) { c.Ulimits = map[string]int64{"a=b": 1} }), "is no limit"},
		"squashed image":            {2, container(func(c *Container) { *c = Container{Engine: Enroot, Image: "/mnt/share/pytorch.sqsh"} }), ""},
		"limits of enroot":          {2, container(func(c *Container) { c.Engine = Enroot }), "leave devices"},
		"built":                     {2, func(j *Job) { j.Benchmark = fromGit().Benchmark }, ""},
		"built, and named": {2, func(j *Job) {
			j.Benchmark = fromGit().Benchmark
			j.Benchmark.NCCLTestsDir = "/opt/nccl-tests/build"
		}, "leave one of them out"},
		"no source":            {2, source(NCCLTestsSource{}), "only one of them"},
		"two sources":          {2, source(NCCLTestsSource{ArchiveURL: "https://a.b/c", GitURL: "https://a.b/c"}), "only one of them"},
		"archive, no digest":   {2, source(NCCLTestsSource{ArchiveURL: "https://a.b/c"}), "sha256"},
		"credentials":          {2, source(NCCLTestsSource{ArchiveURL: "https://u:p@a.b/c", SHA256: strings.Repeat("0a", 32)}), "holds credentials"},
		"repository, no ref":   {2, source(NCCLTestsSource{GitURL: "https://a.b/c"}), "git_ref"},
		"option as repository": {2, source(NCCLTestsSource{GitURL: "--upload-pack=x", GitRef: "v1"}), "git_url"},
		"shell in make":        {2, source(NCCLTestsSource{GitURL: "https://a.b/c", GitRef: "v1", Make: map[string]string{"CUDA_HOME": "$(shell x)"}}), "take apart"},
		"flags of make":        {2, source(NCCLTestsSource{GitURL: "https://a.b/c", GitRef: "v1", Make: map[string]string{"MAKEFLAGS": "-n"}}), "no variable"},
		"negative":             {2, slurm(func(s *Slurm) { s.QueueSeconds = -1 }), "queue_seconds is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := benchmarkJob(test.nodes, test.change).Validate()
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// Limits of time take no part in the key: a longer one finds the run that is on its way.
func TestSlurmInTheKey(t *testing.T) {
	t.Parallel()
	a := fullJob()
	b := fullJob()
	b.Benchmark.Slurm.QueueSeconds, b.Benchmark.Slurm.TimeLimitSeconds = 1, 2
	if a.Key() != b.Key() {
		t.Error("limits change the key")
	}
	b.Benchmark.Slurm.Partition = "other"
	if a.Key() == b.Key() {
		t.Error("another partition has the same key")
	}
	if b.Benchmark.Slurm.QueueSeconds != 1 {
		t.Error("the job was changed")
	}
}
