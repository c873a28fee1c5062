// SPDX-License-Identifier: MPL-2.0

// Package labhost makes the lab's hosts: sets of Linux namespaces, each with a root that is an overlay
// of this machine's programs, an address in a simulated subnet, sshd, and cloud-init with OCI's metadata
// service. It works on Linux only, and only inside namespaces that are the lab's own, so that nothing
// is left when the lab ends.
//
// A host sees the machine's programs and none of its data, and cannot change the machine by accident. It
// is no prison, though: in a lab of the machine's root, root on a host may still mount file systems and
// make device nodes. Run what you do not trust in a lab of a plain user.
package labhost
