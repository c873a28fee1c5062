// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

func check(name string, outcome job.Outcome, message, advice string) job.Check {
	if outcome == job.Pass {
		advice = ""
	}
	return job.Check{Name: name, Outcome: outcome, Message: message, Advice: advice}
}

// judge holds the facts against what the request expects. What is not expected is not checked.
func judge(ctx context.Context, r Request, facts job.Facts) []job.Check {
	checks := []job.Check{}
	if r.Checks.CloudInitWaitSeconds > 0 {
		checks = append(checks, checkCloudInit(facts, r.Checks.CloudInitWaitSeconds))
		if c, ok := checkBoot(ctx, job.BootStatusPath, job.BootLogPath); ok {
			checks = append(checks, c)
		}
	}
	if r.Shape != "" || r.GPUsPerNode > 0 {
		checks = append(checks, checkGPUs(r, facts))
	}
	if r.Checks.Timezone != "" {
		checks = append(checks, checkTimezone(r.Checks.Timezone, facts, "/usr/share/zoneinfo"))
	}
	if len(r.Checks.Mounts) > 0 {
		checks = append(checks, checkMounts(r.Checks.Mounts, facts))
	}
	if r.Checks.FirewallOff {
		checks = append(checks, checkFirewall(ctx))
	}
	if r.MPI {
		checks = append(checks, checkOpenMPI(facts))
	}
	if r.Collective != "" {
		checks = append(checks, checkNCCLTests(facts))
	}
	return checks
}

func checkCloudInit(facts job.Facts, waited int) job.Check {
	const name = "cloud_init"
	const advice = "on the node: cloud-init status --long; sudo cat /var/log/cloud-init-output.log"
	if reason, unknown := facts.Unknown["cloud_init"]; unknown {
		return check(name, job.CannotTell, "cloud-init's status could not be read: "+reason, advice)
	}
	switch facts.CloudInit {
	case "":
		return check(name, job.Pass, "cloud-init is not installed: there is nothing to wait for", "")
	case cloudInitDone, cloudInitDisabled:
		return check(name, job.Pass, "cloud-init is "+facts.CloudInit, "")
	case cloudInitDegraded:
		return check(name, job.Warn, withDetail("cloud-init is done, with errors that it recovered from", facts.CloudInitDetail), advice)
	case cloudInitError:
		return check(name, job.Fail, withDetail("cloud-init ended with an error", facts.CloudInitDetail), advice)
	default:
		return check(name, job.Fail, fmt.Sprintf("cloud-init has not finished after %d seconds (status: %s)", waited, facts.CloudInit), advice)
	}
}

// withDetail adds a program's own words to a message.
func withDetail(message, detail string) string {
	if detail == "" {
		return message
	}
	return message + ": " + detail
}

// checkGPUs wants as many GPUs as the shape has, and at least as many as the job needs.
func checkGPUs(r Request, facts job.Facts) job.Check {
	const name = "gpu_count"
	const advice = "on the node: nvidia-smi, and dmesg for Xid errors; a reboot brings back a GPU that fell off the bus, else replace the node"
	found := len(facts.GPUs)
	expected, origin, known := promisedGPUs(r.Shape)
	if !known && r.GPUsPerNode == 0 {
		return check(name, job.CannotTell, fmt.Sprintf("%d GPUs; %s", found, origin), "name the number of GPUs a node in the job")
	}
	if known && expected == 0 && r.GPUsPerNode == 0 {
		return check(name, job.Pass, r.Shape+" has no GPUs", "")
	}
	if reason, unknown := facts.Unknown["gpus"]; unknown {
		return check(name, job.Fail, "the GPUs could not be read: "+reason, "install the NVIDIA driver, or use an image that has it; "+advice)
	}
	switch {
	case known && found != expected:
		return check(name, job.Fail, fmt.Sprintf("%d GPUs, expected %d (%s)", found, expected, r.Shape), advice)
	case found < r.GPUsPerNode:
		return check(name, job.Fail, fmt.Sprintf("%d GPUs, the job needs %d", found, r.GPUsPerNode), advice)
	case !known:
		return check(name, job.Pass, fmt.Sprintf("%d GPUs, the job needs %d", found, r.GPUsPerNode), "")
	}
	return check(name, job.Pass, fmt.Sprintf("%d GPUs, as %s has", found, r.Shape), "")
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
	const advice = "on the node: findmnt; lsblk; sudo mount --all; and look for errors of cloud-init"
	if reason, unknown := facts.Unknown["mounts"]; unknown {
		return check(name, job.CannotTell, "the mounts could not be read: "+reason, advice)
	}
	var absent []string
	for _, mount := range expected {
		if !slices.Contains(facts.Mounts, mount) {
			absent = append(absent, mount)
		}
	}
	if len(absent) > 0 {
		return check(name, job.Fail, "nothing is mounted on "+strings.Join(absent, ", "), advice)
	}
	return check(name, job.Pass, "mounted: "+strings.Join(expected, ", "), "")
}

func checkOpenMPI(facts job.Facts) job.Check {
	if reason, unknown := facts.Unknown["open_mpi_version"]; unknown {
		return check("open_mpi", job.Fail, reason, "install Open MPI 4.1 on every node (Oracle Linux: openmpi, Ubuntu: openmpi-bin), or use one of Oracle's HPC images")
	}
	return check("open_mpi", job.Pass, fmt.Sprintf("Open MPI %s in %s", facts.OpenMPIVersion, facts.OpenMPIBin), "")
}

func checkNCCLTests(facts job.Facts) job.Check {
	if reason, unknown := facts.Unknown["nccl_tests_dir"]; unknown {
		return check("nccl_tests", job.Fail, reason, "build nccl-tests with MPI=1 on every node and name its folder as nccl_tests_dir, or use one of Oracle's HPC images")
	}
	return check("nccl_tests", job.Pass, "nccl-tests are in "+facts.NCCLTestsDir, "")
}
