// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// check puts a check together. Without advice of its own, a warning or failure has that of its kind.
func check(name string, outcome job.Outcome, message, advice string) job.Check {
	switch {
	case outcome == job.Pass:
		advice = ""
	case advice == "" && outcome != job.CannotTell:
		kind, _ := job.CheckKindOf(name)
		advice = kind.Advice
	}
	return job.Check{Name: name, Outcome: outcome, Message: message, Advice: advice}
}

// judge holds what was found against what the request expects, in the order of job.CheckKinds. Without
// r.Health, what is not expected is not checked.
func judge(r Request, f findings) []job.Check {
	var all []job.Check
	add := func(when bool, checks ...job.Check) {
		if when {
			all = append(all, checks...)
		}
	}
	cloudInit := r.Checks.CloudInitWaitSeconds > 0 || r.Health
	add(cloudInit, checkCloudInit(f.Facts, r.Checks.CloudInitWaitSeconds), checkBoot(f.boot, f.CloudInit))
	add(r.Health, checkClock(f))
	add(r.Checks.Timezone != "", checkTimezone(r.Checks.Timezone, f.Facts, "/usr/share/zoneinfo"))
	add(len(r.Checks.Mounts) > 0, checkMounts(r.Checks.Mounts, f.Facts))
	add(r.Health, checkSpace(f))
	add(r.Checks.FirewallOff, f.firewall)
	add(r.Health, checkMemlock(f), checkGovernor(f))
	add(r.Shape != "" || r.GPUsPerNode > 0 || r.Health && (len(f.GPUs) > 0 || f.nvidia.onBus > 0), checkGPUs(r, f.shape, f.Facts))
	if r.Health {
		all = append(append(all, checkDriver(f)), checkGPUHealth(f)...)
		all = append(all, checkXIDs(f), checkNVLink(f), checkFabric(f), checkPeerMemory(f))
		all = append(append(all, checkRDMA(f)...), checkAgent(f), checkTopology(f))
	}
	add(r.MPI, checkOpenMPI(f.Facts))
	add(r.Collective != "", checkNCCLTests(f.Facts))
	return inOrder(all, r.Checks.Skip)
}

// inOrder leaves out what does not apply (it has no name) and what is skipped, and sorts as job.CheckKinds does.
func inOrder(all []job.Check, skip []string) []job.Check {
	kept := []job.Check{}
	for _, kind := range job.CheckKinds {
		for _, c := range all {
			if c.Name == kind.Name && !slices.Contains(skip, c.Name) {
				kept = append(kept, c)
			}
		}
	}
	return kept
}

func checkCloudInit(facts job.Facts, waited int) job.Check {
	const name = "cloud_init"
	if reason, unknown := facts.Unknown["cloud_init"]; unknown {
		return check(name, job.CannotTell, "cloud-init's status could not be read: "+reason, "")
	}
	switch facts.CloudInit {
	case "":
		return check(name, job.Pass, "cloud-init is not installed: there is nothing to wait for", "")
	case cloudInitDone, cloudInitDisabled:
		return check(name, job.Pass, "cloud-init is "+facts.CloudInit, "")
	case cloudInitDegraded:
		return check(name, job.Warn, withDetail("cloud-init is done, with errors that it recovered from", facts.CloudInitDetail), "")
	case cloudInitError:
		return check(name, job.Fail, withDetail("cloud-init ended with an error", facts.CloudInitDetail), "")
	}
	switch {
	case waited == 0 && facts.CloudInit == cloudInitNotRun:
		return check(name, job.CannotTell, "cloud-init is installed, but was not started", "")
	case waited == 0:
		return check(name, job.Warn, "cloud-init is "+facts.CloudInit, "wait for it: cloud-init status --wait")
	}
	return check(name, job.Fail, fmt.Sprintf("cloud-init has not finished after %d seconds (status: %s)", waited, facts.CloudInit), "")
}

// withDetail adds a program's own words to a message.
func withDetail(message, detail string) string {
	if detail == "" {
		return message
	}
	return message + ": " + detail
}

// checkGPUs wants as many GPUs as the shape has, and at least as many as the job needs.
func checkGPUs(r Request, shape string, facts job.Facts) job.Check {
	const name = "gpu_count"
	found := len(facts.GPUs)
	expected, origin, known := promisedGPUs(shape)
	if !known && r.GPUsPerNode == 0 {
		return check(name, job.CannotTell, fmt.Sprintf("%d GPUs; %s", found, origin), "name the number of GPUs a node in the job")
	}
	if known && expected == 0 && r.GPUsPerNode == 0 {
		return check(name, job.Pass, shape+" has no GPUs", "")
	}
	if reason, unknown := facts.Unknown["gpus"]; unknown {
		return check(name, job.Fail, "the GPUs could not be read: "+reason, "install the NVIDIA driver, or use an image that has it; if it is installed: nvidia-smi, dmesg for Xid errors, and a reboot")
	}
	switch {
	case known && found != expected:
		return check(name, job.Fail, fmt.Sprintf("%d GPUs, expected %d (%s)", found, expected, shape), "")
	case found < r.GPUsPerNode:
		return check(name, job.Fail, fmt.Sprintf("%d GPUs, the job needs %d", found, r.GPUsPerNode), "")
	case !known:
		return check(name, job.Pass, fmt.Sprintf("%d GPUs, the job needs %d", found, r.GPUsPerNode), "")
	}
	return check(name, job.Pass, fmt.Sprintf("%d GPUs, as %s has", found, shape), "")
}

// promisedGPUs gives a shape's number of GPUs; origin says why it is not known.
func promisedGPUs(name string) (gpus int, origin string, known bool) {
	if name == "" {
		return 0, "the shape is not known", false
	}
	s, ok := shape.Lookup(name)
	if !ok {
		return 0, fmt.Sprintf("the shape %s is not in the catalog", name), false
	}
	if !s.GPUs.Usable() {
		return 0, fmt.Sprintf("the catalog is not sure how many GPUs %s has", name), false
	}
	return s.GPUs.V, s.GPUs.Source, true
}

func checkTimezone(expected string, facts job.Facts, zoneinfo string) job.Check {
	const name = "timezone"
	advice := "on the node: sudo timedatectl set-timezone " + expected
	if reason, unknown := facts.Unknown["timezone"]; unknown {
		return check(name, job.CannotTell, "the time zone could not be read: "+reason, advice)
	}
	if facts.Timezone == expected {
		return check(name, job.Pass, "the time zone is "+facts.Timezone, "")
	}
	if sameZone(zoneinfo, facts.Timezone, expected) {
		return check(name, job.Pass, fmt.Sprintf("the time zone is %s, another name of %s", facts.Timezone, expected), "")
	}
	return check(name, job.Fail, fmt.Sprintf("the time zone is %s, expected %s", facts.Timezone, expected), advice)
}

// sameZone says whether two names stand for the same rules, as Japan and Asia/Tokyo do.
func sameZone(zoneinfo, a, b string) bool {
	if !filepath.IsLocal(a) || !filepath.IsLocal(b) {
		return false
	}
	one, err := os.ReadFile(filepath.Join(zoneinfo, a)) // #nosec G304 -- below zoneinfo
	if err != nil {
		return false
	}
	other, err := os.ReadFile(filepath.Join(zoneinfo, b)) // #nosec G304 -- below zoneinfo
	return err == nil && bytes.Equal(one, other)
}

func checkMounts(expected []string, facts job.Facts) job.Check {
	const name = "mounts"
	if reason, unknown := facts.Unknown["mounts"]; unknown {
		return check(name, job.CannotTell, "the mounts could not be read: "+reason, "")
	}
	var absent []string
	for _, mount := range expected {
		if !slices.Contains(facts.Mounts, mount) {
			absent = append(absent, mount)
		}
	}
	if len(absent) > 0 {
		return check(name, job.Fail, "nothing is mounted on "+strings.Join(absent, ", "), "")
	}
	return check(name, job.Pass, "mounted: "+strings.Join(expected, ", "), "")
}

func checkOpenMPI(facts job.Facts) job.Check {
	if reason, unknown := facts.Unknown["open_mpi_version"]; unknown {
		return check("open_mpi", job.Fail, reason, "")
	}
	return check("open_mpi", job.Pass, fmt.Sprintf("Open MPI %s in %s", facts.OpenMPIVersion, facts.OpenMPIBin), "")
}

func checkNCCLTests(facts job.Facts) job.Check {
	if reason, unknown := facts.Unknown["nccl_tests"]; unknown {
		return check("nccl_tests", job.Fail, reason, "")
	}
	return check("nccl_tests", job.Pass, facts.NCCLTests+" is there", "")
}
