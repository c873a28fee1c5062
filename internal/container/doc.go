// SPDX-License-Identifier: MPL-2.0

// Package container makes a node run containers with its GPUs: it plans the steps that install an engine
// (containerd, Docker or Podman), the NVIDIA Container Toolkit and the CDI specification, pull images and prove
// that a container sees the GPUs; it tells what is there afterwards; and it takes away what it put there.
//
// Everything here runs on the node itself, as root.
package container
