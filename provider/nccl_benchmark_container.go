// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

type containerModel struct {
	Engine       types.String `tfsdk:"engine"`
	Image        types.String `tfsdk:"image"`
	Rootless     types.Bool   `tfsdk:"rootless"`
	Mounts       types.List   `tfsdk:"mounts"`
	Devices      types.List   `tfsdk:"devices"`
	GPUs         types.String `tfsdk:"gpus"`
	ShmSizeBytes types.Int64  `tfsdk:"shm_size_bytes"`
	Ulimits      types.Map    `tfsdk:"ulimits"`
}

func (m *containerModel) toJob() *job.Container {
	if m == nil {
		return nil
	}
	c := &job.Container{
		Engine: job.Engine(m.Engine.ValueString()), Image: m.Image.ValueString(), Rootless: m.Rootless.ValueBool(), Mounts: stringsOf(m.Mounts.Elements()),
		Devices: stringsOf(m.Devices.Elements()), GPUs: job.GPUAccess(m.GPUs.ValueString()), ShmSizeBytes: m.ShmSizeBytes.ValueInt64(),
	}
	for name, element := range m.Ulimits.Elements() {
		if limit, ok := element.(types.Int64); ok && isSet(limit) {
			if c.Ulimits == nil {
				c.Ulimits = map[string]int64{}
			}
			c.Ulimits[name] = limit.ValueInt64()
		}
	}
	return c
}

func containerAttribute() schema.Attribute {
	engines := make([]string, len(job.RankEngines))
	for i, engine := range job.RankEngines {
		engines[i] = string(engine)
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Container that the ranks run in, one on each node for as long as the measurement lasts: with the node's network, IPC and host name, its GPUs, " +
			"and its adapters (`/dev/infiniband`) with no limit of locked memory. Nothing of it stays on the nodes, whatever ends the measurement. `mpirun` runs in the first node's container; " +
			"its daemons get into the others over the runner's own connections: the image needs Open MPI and nccl-tests, but no sshd and no keys. Default: on the nodes themselves.",
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"engine": schema.StringAttribute{
				MarkdownDescription: "Engine on the nodes, as `ocihpc_container_runtime` sets it up: `containerd` (by nerdctl), `docker` or `podman`; or `enroot`, which you install.",
				Required:            true,
				Validators:          []validator.String{stringvalidator.OneOf(engines...)},
			},
			"image": schema.StringAttribute{
				MarkdownDescription: "Image by reference, which the nodes have or can pull without credentials (`images` of `ocihpc_container_runtime` has them pull it with some); for `enroot` also the path of a `.sqsh` file.",
				Required:            true,
			},
			"rootless": schema.BoolAttribute{
				MarkdownDescription: "Whether the engine is the login user's own (`ssh.user`) in place of root's. Default: false.",
				Optional:            true,
			},
			"mounts": schema.ListAttribute{
				MarkdownDescription: "Mounts beside those that the runner needs, each as `SOURCE:TARGET` or `SOURCE:TARGET:ro`.",
				Optional:            true, ElementType: types.StringType,
			},
			"devices": schema.ListAttribute{
				MarkdownDescription: "Devices beside GPUs and RDMA adapters, such as `/dev/gdrdrv`.",
				Optional:            true, ElementType: types.StringType,
			},
			"gpus": schema.StringAttribute{
				MarkdownDescription: "How the container gets the GPUs: `cdi` (`--device nvidia.com/gpu=all`), `option` (`--gpus all`) or `none`. Default: `cdi`.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf(string(job.GPUsByCDI), string(job.GPUsByOption), string(job.NoGPUs))},
			},
			"shm_size_bytes": schema.Int64Attribute{
				MarkdownDescription: "Size of a `/dev/shm` of the container's own, in bytes. Default: the node's.",
				Optional:            true, Validators: []validator.Int64{int64validator.AtLeast(1)},
			},
			"ulimits": schema.MapAttribute{
				MarkdownDescription: "Limits by name, such as `nofile`; -1 is none. `memlock` has none on nodes with RDMA unless it is set.",
				Optional:            true, ElementType: types.Int64Type,
			},
		},
	}
}

// validateContainer looks at what is known of container when a configuration is planned.
func validateContainer(ctx context.Context, config tfsdk.Config, launcher types.String, diags *diag.Diagnostics) {
	at := path.Root("container")
	var m containerModel
	if !configured(ctx, config, at, &m, diags) {
		return
	}
	if launcher.ValueString() == string(job.LauncherSlurm) {
		diags.AddAttributeError(at, "Container beside Slurm", "container is for launchers other than slurm: name the image in slurm.image, which Pyxis runs.")
		return
	}
	if m.Engine.IsUnknown() || m.Image.IsUnknown() || hasUnknown(m.Mounts) || hasUnknown(m.Devices) {
		return // the runner looks at it, too
	}
	addInvalid(diags, at, m.toJob().Validate())
}
