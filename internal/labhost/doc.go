// SPDX-License-Identifier: MPL-2.0

// Package labhost makes the lab's hosts: sets of Linux namespaces, each with a root that is an overlay
// of this machine's programs, an address in a simulated subnet, sshd, and cloud-init with OCI's metadata
// service. It works on Linux only, and only inside namespaces that are the lab's own, so that nothing
// is left when the lab ends.
package labhost
