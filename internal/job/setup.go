// SPDX-License-Identifier: MPL-2.0

package job

import (
	"fmt"
	"strings"
)

// Setup asks for what is to be on every node: first the steps of whoever asks, in their order, then the
// container runtime. All of it is idempotent: what is in place already is left alone.
type Setup struct {
	Steps            []Step            `json:"steps,omitempty"`
	ContainerRuntime *ContainerRuntime `json:"container_runtime,omitempty"`
	// DryRun asks what would be done, and does nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Limits; 0 means the default, which each field names. They take no part in the job's key.
	MaxSessions      int `json:"max_sessions,omitempty"`      // nodes worked on at a time: 64
	MaxDownloads     int `json:"max_downloads,omitempty"`     // nodes that download from outside at a time: 16
	MaxUploads       int `json:"max_uploads,omitempty"`       // nodes that get the runner from the head node; the others get it from them: 8
	MaxTransfers     int `json:"max_transfers,omitempty"`     // nodes that one node gives the runner, or an image, to at a time: 2
	LockWaitSeconds  int `json:"lock_wait_seconds,omitempty"` // for another set-up that works on a node: 600
	ReconnectSeconds int `json:"reconnect_seconds,omitempty"` // for a node that was lost, and may reboot: 900
}

// Step is one thing to have on a node. Exactly one of the fields below Name is set.
type Step struct {
	// Name is unique in the set-up and stands for the step in messages and results.
	Name      string         `json:"name"`
	File      *FileStep      `json:"file,omitempty"`
	Directory *DirectoryStep `json:"directory,omitempty"`
	Link      *LinkStep      `json:"link,omitempty"`
	Command   *CommandStep   `json:"command,omitempty"`
	Packages  *PackagesStep  `json:"packages,omitempty"`
	Service   *ServiceStep   `json:"service,omitempty"`
	Download  *DownloadStep  `json:"download,omitempty"`
}

// FileStep is a file with this content.
type FileStep struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Mode    string `json:"mode"`            // octal, such as 0644
	Owner   string `json:"owner,omitempty"` // user or user:group; empty means root
}

// DirectoryStep is a directory; what is in it is left alone.
type DirectoryStep struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"`
	Owner string `json:"owner,omitempty"` // user or user:group; empty means root
}

// LinkStep is a symbolic link.
type LinkStep struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

// PackagesStep is packages of the distribution, by apt or dnf, whichever the node has.
type PackagesStep struct {
	Names []string `json:"names"`
}

// ServiceStep is a unit of systemd, enabled and running; Off has it disabled and stopped.
type ServiceStep struct {
	Unit string `json:"unit"` // such as chronyd.service
	Off  bool   `json:"off,omitempty"`
}

// DownloadStep is a file from elsewhere.
type DownloadStep struct {
	URL    string `json:"url"`    // http or https, without credentials; they would be kept in job files
	SHA256 string `json:"sha256"` // in hex
	Path   string `json:"path"`
	Mode   string `json:"mode"`
	Owner  string `json:"owner,omitempty"`
}

// CommandStep is a program to run, as root and without a shell, when the node needs it.
type CommandStep struct {
	Argv []string `json:"argv"`
	// Unless is a program whose exit status 0 says that nothing has to be done. Creates is a path whose
	// presence says so. One of them is needed: it makes the step idempotent, and proves afterwards that it worked.
	Unless  []string `json:"unless,omitempty"`
	Creates string   `json:"creates,omitempty"`
}

// Engine runs containers.
type Engine string

// Engines.
const (
	Containerd Engine = "containerd" // with runc, the CNI plugins and nerdctl
	Docker     Engine = "docker"
	Podman     Engine = "podman"
)

// ContainerRuntime is an engine with access to the node's GPUs by CDI (NVIDIA Container Toolkit).
type ContainerRuntime struct {
	Engine Engine `json:"engine"`
	// RootlessUser has the engine run as this user of the node, beside root's where the engine has one; empty is root's alone.
	RootlessUser string `json:"rootless_user,omitempty"`
	// Versions by component (containerd, runc, cni_plugins, nerdctl, nvidia_container_toolkit, rootlesskit …);
	// components that are not named have the runner's pinned ones.
	Versions map[string]string `json:"versions,omitempty"`
	// Mirror replaces the vendors' release addresses: an http(s) URL or a directory of the node, with a manifest
	// as `ocihpc-runner mirror` makes it. Empty means the vendors'.
	Mirror string `json:"mirror,omitempty"`
	// DataRoot is where images and containers are kept, such as /mnt/localdisk/containers; empty is the engine's own place.
	DataRoot string `json:"data_root,omitempty"`
	// InsecureRegistries, as host or host:port, are spoken to without a trusted certificate, or over plain HTTP: registries of
	// a private network. Credentials travel to them in the clear.
	InsecureRegistries []string `json:"insecure_registries,omitempty"`
	// Images to have on every node, by reference.
	Images []string `json:"images,omitempty"`
	// ShareImages pulls each image once from its registry, and passes it on from node to node.
	ShareImages bool `json:"share_images,omitempty"`
	// ProofImage runs nvidia-smi -L in a container and must see the shape's GPUs; empty takes the first of Images, and without one nothing is proven.
	ProofImage string `json:"proof_image,omitempty"`
	// Remove takes the engine away instead: what the set-up put there, and nothing else.
	Remove bool `json:"remove,omitempty"`
}

// StepOutcome is what came of a step on a node.
type StepOutcome string

// Outcomes of a step.
const (
	StepUnchanged   StepOutcome = "unchanged"    // it was in place
	StepChanged     StepOutcome = "changed"      // it was put in place, and verified
	StepWouldChange StepOutcome = "would_change" // a dry run
	StepFailed      StepOutcome = "failed"
	StepNotRun      StepOutcome = "not_run" // because of a step before it
)

// StepResult is what came of one step on a node.
type StepResult struct {
	Name    string      `json:"name"`
	Title   string      `json:"title"` // for people, in the imperative
	Outcome StepOutcome `json:"outcome"`
	Seconds float64     `json:"seconds"`
	// Message says what differed, what would be done, or what went wrong; Output is the end of what the step's programs printed.
	Message string `json:"message,omitempty"`
	Output  string `json:"output,omitempty"`
	Advice  string `json:"advice,omitempty"`
}

// NodeSetup is what came of the set-up on a node.
type NodeSetup struct {
	Steps []StepResult `json:"steps"`
	// Engine, Versions by component, Images by reference with their digests, and the GPUs that a container saw;
	// empty without a container runtime, or as far as the set-up did not come.
	Engine   Engine            `json:"engine,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
	Images   map[string]string `json:"images,omitempty"`
	GPUs     []string          `json:"gpus,omitempty"`
	// Failure is why the node is not set up: the step that failed, or what kept the steps from being tried. Nil when it is.
	Failure *Failure `json:"failure,omitempty"`
}

// Outcome is Fail when a step failed, CouldNotRun when the steps were not all tried for another reason, and Pass
// otherwise, also where no set-up was asked for.
func (s *NodeSetup) Outcome() Outcome {
	switch {
	case s == nil || s.Failure == nil:
		return Pass
	case s.Failure.Kind == KindStepFailed:
		return Fail
	}
	return CouldNotRun
}

// KindStepFailed is the kind of the failure of a node on which a step failed.
const KindStepFailed = "step_failed"

// Summary puts what came of a node's steps into a few words, such as "3 changed, 11 in place".
func (s *NodeSetup) Summary() string {
	if s == nil {
		return "not set up"
	}
	return countOutcomes(s.Steps)
}

// SetupSummary does so for all nodes: "14 steps on 64 nodes: 3 changed, 893 in place".
func SetupSummary(nodes []NodeResult) string {
	var all []StepResult
	steps, reached := 0, 0
	for _, n := range nodes {
		if n.Setup != nil && len(n.Setup.Steps) > 0 {
			all = append(all, n.Setup.Steps...)
			steps = max(steps, len(n.Setup.Steps))
			reached++
		}
	}
	return fmt.Sprintf("%s on %s: %s", plural(steps, "step"), plural(reached, "node"), countOutcomes(all))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func countOutcomes(steps []StepResult) string {
	var said []string
	for _, outcome := range []struct {
		is    StepOutcome
		words string
	}{
		{StepChanged, "changed"}, {StepWouldChange, "would change"}, {StepFailed, "failed"}, {StepNotRun, "not run"}, {StepUnchanged, "in place"},
	} {
		n := 0
		for _, step := range steps {
			if step.Outcome == outcome.is {
				n++
			}
		}
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, outcome.words))
		}
	}
	if len(said) == 0 {
		return "nothing done"
	}
	return strings.Join(said, ", ")
}
