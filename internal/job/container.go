// SPDX-License-Identifier: MPL-2.0

package job

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Enroot runs containers of the user alone, without a daemon.
const Enroot Engine = "enroot"

// RankEngines can run ranks: nerdctl stands in for containerd.
var RankEngines = []Engine{Containerd, Docker, Podman, Enroot}

// Container says what the ranks run in: one container on each node for the whole job, with the node's network, IPC and host
// name, and, where there are any, the adapters below /dev/infiniband with no limit of locked memory.
type Container struct {
	Engine Engine `json:"engine"`
	// Image by reference; with Enroot, it may also be the path of a .sqsh file.
	Image string `json:"image"`
	// Rootless runs it by the login user's own engine in place of root's. Enroot's always is.
	Rootless bool `json:"rootless,omitempty"`
	// Mounts beside those that the runner needs, as SOURCE:TARGET or SOURCE:TARGET:ro.
	Mounts []string `json:"mounts,omitempty"`
	// Devices beside those of RDMA and the GPUs, such as /dev/gdrdrv.
	Devices []string `json:"devices,omitempty"`
	// GPUs is how the container gets them; empty means GPUsByCDI.
	GPUs GPUAccess `json:"gpus,omitempty"`
	// ShmSizeBytes is the size of a /dev/shm of the container's own; 0 means the node's.
	ShmSizeBytes int64 `json:"shm_size_bytes,omitempty"`
	// Ulimits by name, such as nofile; -1 is no limit. memlock has none on nodes with RDMA unless it is set here.
	Ulimits map[string]int64 `json:"ulimits,omitempty"`
}

// GPUAccess is how a container gets the GPUs.
type GPUAccess string

// Ways to the GPUs.
const (
	GPUsByCDI    GPUAccess = "cdi"    // --device nvidia.com/gpu=all
	GPUsByOption GPUAccess = "option" // --gpus all
	NoGPUs       GPUAccess = "none"
)

var (
	mountPattern  = form(`^/[A-Za-z0-9._/+@%=-]*:/[A-Za-z0-9._/+@%=-]*(:ro)?$`)
	devicePattern = form(`^/dev/[A-Za-z0-9._/-]+$`)
	ulimitPattern = form(`^[a-z]{2,16}$`)
)

// Validate finds what is wrong with the container.
func (c Container) Validate() error {
	var v problems
	v.container("", c)
	return errors.Join(v.list...)
}

func (v *problems) container(field string, c Container) {
	if !slices.Contains(RankEngines, c.Engine) {
		v.add("%sengine %q is not one of %v", field, c.Engine, RankEngines)
	}
	if !referencePattern.MatchString(c.Image) && (c.Engine != Enroot || !pathPattern.MatchString(c.Image)) {
		v.add("%simage %q is not an image reference", field, c.Image)
	}
	if len(c.Mounts) > 0 {
		v.each(field+"mounts", c.Mounts, mountPattern, "SOURCE:TARGET or SOURCE:TARGET:ro with absolute paths")
	}
	for _, mount := range c.Mounts {
		if _, target, _ := strings.Cut(mount, ":"); target == ContainerDir || strings.HasPrefix(target, ContainerDir+"/") {
			v.add("%smounts: %s is the runner's own place in the container", field, ContainerDir)
		}
	}
	if len(c.Devices) > 0 {
		v.each(field+"devices", c.Devices, devicePattern, "a path below /dev")
	}
	if !slices.Contains([]GPUAccess{"", GPUsByCDI, GPUsByOption, NoGPUs}, c.GPUs) {
		v.add("%sgpus %q is not cdi, option or none", field, c.GPUs)
	}
	if c.ShmSizeBytes < 0 {
		v.add("%sshm_size_bytes is negative", field)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Ulimits)) {
		if !ulimitPattern.MatchString(name) || c.Ulimits[name] < -1 {
			v.add("%sulimits: %s=%d is no limit", field, name, c.Ulimits[name])
		}
	}
	if c.Engine == Enroot && (c.ShmSizeBytes > 0 || len(c.Ulimits) > 0 || len(c.Devices) > 0) {
		v.add("%sengine enroot has the node's devices, limits and /dev/shm: leave devices, ulimits and shm_size_bytes out", field)
	}
}

// What the runner has in a container.
const (
	ContainerDir    = "/ocihpc"
	ContainerRunner = ContainerDir + "/ocihpc-runner"
	ContainerSocket = ContainerDir + "/job/sock" // of the job, on the head node
	ContainerTests  = ContainerDir + "/nccl-tests"
)
