// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// Time limits of a set-up. The job's own limit is that of the resource.
const (
	defaultSetupTimeout  = 60 * time.Minute
	defaultRemoveTimeout = 30 * time.Minute
)

type containerRuntimeModel struct {
	Nodes              []nodeModel       `tfsdk:"nodes"`
	Shape              types.String      `tfsdk:"shape"`
	SSH                sshModel          `tfsdk:"ssh"`
	Engine             types.String      `tfsdk:"engine"`
	RootlessUser       types.String      `tfsdk:"rootless_user"`
	Versions           map[string]string `tfsdk:"versions"`
	Mirror             types.String      `tfsdk:"mirror"`
	DataRoot           types.String      `tfsdk:"data_root"`
	Images             []string          `tfsdk:"images"`
	ShareImages        types.Bool        `tfsdk:"share_images"`
	InsecureRegistries []string          `tfsdk:"insecure_registries"`
	ProofImage         types.String      `tfsdk:"proof_image"`
	RegistryAuthPath   types.String      `tfsdk:"registry_auth_path"`
	MaxSessions        types.Int64       `tfsdk:"max_sessions"`
	MaxDownloads       types.Int64       `tfsdk:"max_downloads"`
	MaxUploads         types.Int64       `tfsdk:"max_uploads"`
	MaxTransfers       types.Int64       `tfsdk:"max_transfers"`
	OnDestroy          types.String      `tfsdk:"on_destroy"`
	Triggers           map[string]string `tfsdk:"triggers"`
	Timeouts           timeouts.Value    `tfsdk:"timeouts"`

	ID       types.String `tfsdk:"id"`
	Outcome  types.String `tfsdk:"outcome"`
	Failure  types.String `tfsdk:"failure"`
	SetUpAt  types.String `tfsdk:"set_up_at"`
	PerNode  types.List   `tfsdk:"per_node"`
	HostKeys types.Map    `tfsdk:"host_keys"`
}

// toJob gives the work that the plan asks for.
func (m *containerRuntimeModel) toJob(timeout time.Duration) job.Job {
	return job.Job{
		Version:        job.Version,
		Nodes:          jobNodes(m.Nodes),
		SSH:            m.SSH.toJob(),
		Shape:          m.Shape.ValueString(),
		Checks:         job.Checks{CloudInitWaitSeconds: defaultCloudInitWaitSeconds},
		Triggers:       m.Triggers,
		TimeoutSeconds: int(timeout.Seconds()),
		Setup: &job.Setup{
			ContainerRuntime: &job.ContainerRuntime{
				Engine:             job.Engine(m.Engine.ValueString()),
				RootlessUser:       m.RootlessUser.ValueString(),
				Versions:           m.Versions,
				Mirror:             m.Mirror.ValueString(),
				DataRoot:           m.DataRoot.ValueString(),
				Images:             m.Images,
				ShareImages:        m.ShareImages.ValueBool(),
				InsecureRegistries: m.InsecureRegistries,
				ProofImage:         m.ProofImage.ValueString(),
			},
			MaxSessions:  int(m.MaxSessions.ValueInt64()),
			MaxDownloads: int(m.MaxDownloads.ValueInt64()),
			MaxUploads:   int(m.MaxUploads.ValueInt64()),
			MaxTransfers: int(m.MaxTransfers.ValueInt64()),
		},
	}
}

// registryAuth reads the credentials of registries, nil without any.
func (m *containerRuntimeModel) registryAuth() ([]byte, error) {
	if !isSet(m.RegistryAuthPath) {
		return nil, nil
	}
	file, err := oci.ExpandHome(m.RegistryAuthPath.ValueString())
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of registries: %w", err)
	}
	var config struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if err := json.Unmarshal(text, &config); err != nil || len(config.Auths) == 0 {
		return nil, fmt.Errorf("%s holds no \"auths\" as ~/.docker/config.json has them; a credential helper's logins are not in that file: "+
			"log in without the helper, into a file of its own (docker --config DIR login)", file)
	}
	return text, nil
}

// toRemoval gives the job that takes the engine away.
func (m *containerRuntimeModel) toRemoval(timeout time.Duration) job.Job {
	j := m.toJob(timeout)
	runtime := *j.Setup.ContainerRuntime
	runtime.Remove, runtime.Images, runtime.ProofImage = true, nil, ""
	j.Setup.ContainerRuntime = &runtime
	return j
}

type nodeRuntimeModel struct {
	Name         string            `tfsdk:"name"`
	PrivateIP    string            `tfsdk:"private_ip"`
	Outcome      string            `tfsdk:"outcome"`
	Engine       types.String      `tfsdk:"engine"`
	Versions     map[string]string `tfsdk:"versions"`
	Images       map[string]string `tfsdk:"images"`
	GPUs         []string          `tfsdk:"gpus"`
	ChangedSteps []string          `tfsdk:"changed_steps"`
}

var nodeRuntimeType = typeOf[nodeRuntimeModel]()

// fromResult fills the computed attributes.
func (m *containerRuntimeModel) fromResult(ctx context.Context, result *job.Result, hostKeys map[string]string) diag.Diagnostics {
	var diags diag.Diagnostics
	m.ID = types.StringValue(result.Key)
	m.Outcome = types.StringValue(string(result.Outcome))
	m.SetUpAt = timeOrNull(result.FinishedAt)
	m.Failure = types.StringNull()
	if result.Failure != nil {
		m.Failure = types.StringValue(result.Failure.Message)
	}
	nodes := make([]nodeRuntimeModel, 0, len(result.Nodes))
	for _, node := range result.Nodes {
		nodes = append(nodes, nodeRuntimeFrom(node, result.NodeOutcome(node.Name)))
	}
	m.PerNode = listFrom(ctx, &diags, nodes)
	keys, d := types.MapValueFrom(ctx, types.StringType, hostKeys)
	diags.Append(d...)
	m.HostKeys = keys
	return diags
}

func nodeRuntimeFrom(node job.NodeResult, outcome job.Outcome) nodeRuntimeModel {
	m := nodeRuntimeModel{
		Name: node.Name, PrivateIP: node.Address, Outcome: string(outcome),
		Versions: map[string]string{}, Images: map[string]string{}, GPUs: []string{}, ChangedSteps: []string{},
	}
	setup := node.Setup
	if setup == nil {
		return m
	}
	m.Engine = stringOrNull(string(setup.Engine))
	if setup.Versions != nil {
		m.Versions = setup.Versions
	}
	if setup.Images != nil {
		m.Images = setup.Images
	}
	m.GPUs = append(m.GPUs, setup.GPUs...)
	for _, step := range setup.Steps {
		if step.Outcome == job.StepChanged {
			m.ChangedSteps = append(m.ChangedSteps, step.Title)
		}
	}
	return m
}
