// SPDX-License-Identifier: MPL-2.0

package node

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// findings are the facts of a node, and what only its checks need.
type findings struct {
	job.Facts
	shape string // asked for, or what the instance metadata say

	firewall job.Check // unnamed when nobody asked
	boot     boot

	clock    found[clock]
	space    []space
	memlock  found[uint64]
	upTime   float64 // seconds
	metadata found[metadata]
	agent    []agentState

	gpus    gpuFindings
	nvidia  driver
	nvlinks found[[]links]
	xids    found[[]xid]

	rdma           rdmaFindings
	authentication []portAuthentication
	congestion     []congestionControl
	governors      []string
}

// found is a finding, or why there is none.
type found[T any] struct {
	value T
	err   error
}

func find[T any](value T, err error) found[T] { return found[T]{value, err} }

// gather reads everything that cloud-init has not said, all programs at the same time. The keys of Unknown are the facts' names in JSON.
func gather(ctx context.Context, r Request, said cloudInit) findings {
	f := findings{Facts: job.Facts{Unknown: map[string]string{}}, shape: r.Shape}
	var writing sync.Mutex
	note := func(name string, err error) {
		if err != nil {
			writing.Lock()
			defer writing.Unlock()
			f.Unknown[name] = err.Error()
		}
	}
	readSystem(&f, note)
	f.CloudInit, f.CloudInitDetail = said.status, said.detail
	note("cloud_init", said.err)
	var group sync.WaitGroup
	group.Go(func() {
		f.gpus = askGPUs(ctx)
		f.GPUs, f.DriverVersion = f.gpus.list, f.gpus.driver
		note("gpus", f.gpus.err)
	})
	group.Go(func() {
		var err error
		f.NetworkCIDR, err = networkOf(ctx, r.Address)
		note("network_cidr", err)
	})
	group.Go(func() {
		var err error
		f.OpenMPIBin, f.OpenMPIVersion, err = openMPI(ctx)
		note("open_mpi_version", err)
		f.NCCLTests, err = ncclTests(r.NCCLTestsDir, cmp.Or(r.Collective, "all_reduce"), r.MPI)
		note("nccl_tests", err)
	})
	if r.Checks.FirewallOff {
		group.Go(func() { f.firewall = checkFirewall(ctx) })
	}
	if r.Checks.CloudInitWaitSeconds > 0 || r.Health {
		group.Go(func() { f.boot = readBoot(ctx, job.BootStatusPath, job.BootLogPath) })
	}
	if r.Health {
		gatherHealth(ctx, r, &f, &group)
	}
	group.Wait()
	return f
}

// gatherHealth reads what only checks of the node's health need.
func gatherHealth(ctx context.Context, r Request, f *findings, group *sync.WaitGroup) {
	root := os.DirFS("/")
	group.Go(func() { f.clock = find(readClock(ctx, root)) })
	group.Go(func() { f.space = readSpace(ctx, r.Checks.Mounts) })
	group.Go(func() {
		f.memlock, f.nvidia, f.upTime, f.governors = find(readMemlock()), readDriver(root), upTime(root), readGovernors(root)
	})
	group.Go(func() { f.nvlinks = find(askNVLinks(ctx)) })
	group.Go(func() { f.xids = find(askXIDs(ctx)) })
	group.Go(func() {
		f.metadata = find(readMetadata(ctx, metadataAddress))
		f.shape = cmp.Or(f.shape, f.metadata.value.Instance.Shape)
		f.Topology = f.metadata.value.topology()
		f.agent = readAgent(root)
		f.rdma = readRDMA(root, addressesOf)
		var served []hca
		for _, h := range f.rdma.hcas {
			f.HCAs = append(f.HCAs, h.HCA)
		}
		for _, h := range portsOf(f.shape, f.rdma) {
			if h.Interface != "" {
				served = append(served, h)
			}
		}
		f.authentication = askAuthentication(ctx, served)
		if regulates(f.shape) {
			f.congestion = askCongestion(ctx, portsOf(f.shape, f.rdma))
		}
	})
}

// readSystem reads what needs no program.
func readSystem(f *findings, note func(string, error)) {
	var err error
	f.Hostname, err = os.Hostname()
	note("hostname", err)
	f.OS, err = osName("/etc/os-release")
	note("os", err)
	f.Kernel, f.Arch, err = kernel()
	note("kernel", err)
	f.Timezone, err = timezone("/")
	note("timezone", err)
	f.Mounts, err = mounts("/proc/mounts")
	note("mounts", err)
}

// young says that the node's RDMA may still be in the making.
func (f findings) young() bool { return f.upTime > 0 && f.upTime < settlingTime.Seconds() }

// upTime is for how long the kernel runs, in seconds; 0 when it does not tell.
func upTime(root fs.FS) float64 {
	text, _, _ := strings.Cut(line(root, "proc/uptime"), " ")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return seconds
}
