// SPDX-License-Identifier: MPL-2.0

package node

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// agentStateDir is where Oracle Cloud Agent's plugins for RDMA leave their state, a JSON document each.
// Source: oci-hpc 3.1's health checks.
const agentStateDir = "run/oci-hpc"

const agentCompleted = "COMPLETED"

// rdmaPlugins set RDMA up; the names are those of the instance's agent configuration.
var rdmaPlugins = []string{"Compute HPC RDMA Auto-Configuration", "Compute HPC RDMA Authentication"}

// agentState is what one plugin says.
type agentState struct{ plugin, state string }

func readAgent(root fs.FS) []agentState {
	var all []agentState
	for _, file := range names(root, agentStateDir) {
		name, isJSON := strings.CutSuffix(file, ".json")
		if !isJSON {
			continue
		}
		var document struct {
			State string `json:"state"`
		}
		text := line(root, path.Join(agentStateDir, file))
		if err := json.Unmarshal([]byte(text), &document); err != nil || document.State == "" {
			document.State = "unreadable"
		}
		all = append(all, agentState{name, document.State})
	}
	return all
}

// checkAgent is for nodes with RDMA devices. Images may set RDMA up by services of their own instead.
func checkAgent(f findings) job.Check {
	const name = "rdma_agent"
	if len(f.rdma.hcas) == 0 {
		return job.Check{}
	}
	if len(f.agent) > 0 {
		parts := []part{}
		for _, a := range f.agent {
			v := pass
			if !strings.EqualFold(a.state, agentCompleted) {
				v = verdict{job.Fail, "the plugin's state is " + a.state, ""}
			}
			parts = append(parts, part{a.plugin, v})
		}
		return combine(name, "Oracle Cloud Agent's RDMA plugins have completed", parts)
	}
	var off []string
	for _, wanted := range rdmaPlugins {
		if !slices.Contains(f.metadata.value.Instance.AgentConfig.Plugins, plugin{wanted, "ENABLED"}) {
			off = append(off, wanted)
		}
	}
	switch {
	case f.metadata.err != nil:
		return check(name, job.CannotTell, "Oracle Cloud Agent left no state of its RDMA plugins, and "+f.metadata.err.Error(), "")
	case len(off) > 0:
		return check(name, job.Warn, "not enabled on the instance: "+strings.Join(off, ", ")+"; only services of the image itself can set RDMA up",
			"enable the plugins (ocihpc_gpu_cluster does), or use an image with oci-cn-auth and oci-rdma-configure")
	}
	return check(name, job.CannotTell, "the RDMA plugins are enabled, but left no state yet", "")
}
