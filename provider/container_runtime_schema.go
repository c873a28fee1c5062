// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Values of on_destroy.
const (
	onDestroyKeep   = "keep"
	onDestroyRemove = "remove"
)

func containerRuntimeSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A container engine with access to the GPUs on every node of a cluster: containerd with nerdctl, Docker or " +
			"Podman, the NVIDIA Container Toolkit with a CDI specification, the images that you name, and the proof that a container sees " +
			"the GPUs.\n\n" +
			"The companion `ocihpc-runner`, which is part of the provider, is put on the nodes over SSH and works on all of them at " +
			"the same time, on each when its cloud-init has ended. Each step looks first and changes only what differs. A node that fails " +
			"does not keep the others from being set up; the next apply goes on where it stopped. A change of any argument but `on_destroy` and `timeouts` sets the nodes up again, in " +
			"place. The nodes are not looked at on refresh: use `triggers` to have them checked anew.",
		Attributes: containerRuntimeAttributes(ctx),
	}
}

func containerRuntimeAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"nodes": nodesAttribute("Nodes to set up, such as `ocihpc_gpu_cluster.this.nodes`. The first one is the head node, which " +
			"the runner works from. A change sets up again: what is in place stays as it is."),
		"shape": schema.StringAttribute{
			MarkdownDescription: "Shape of the nodes, such as `BM.GPU4.8`. A container must see as many GPUs as it has. Default: as many as " +
				"the node itself shows.",
			Optional: true,
		},
		"ssh": sshAttribute(),
		"engine": schema.StringAttribute{
			MarkdownDescription: "`containerd` (default; with runc, the CNI plugins and nerdctl), `docker` or `podman`. On a change the " +
				"earlier engine stays on the nodes.",
			Optional: true, Computed: true,
			Default:    stringdefault.StaticString(string(job.Containerd)),
			Validators: []validator.String{stringvalidator.OneOf(string(job.Containerd), string(job.Docker), string(job.Podman))},
		},
		"rootless_user": schema.StringAttribute{
			MarkdownDescription: "User of the nodes, who must exist, as whom the engine runs as well, without root's rights. Default: none.",
			Optional:            true,
		},
		"versions": schema.MapAttribute{
			MarkdownDescription: "Versions by component, such as `containerd`, `runc`, `cni_plugins`, `nerdctl`, `rootlesskit`, `bypass4netns` " +
				"and `nvidia_container_toolkit`. Default: versions that were released to work together, pinned by their digests. A change " +
				"updates in place.",
			Optional:    true,
			ElementType: types.StringType,
		},
		"mirror": schema.StringAttribute{
			MarkdownDescription: "Address (http or https) or directory of the nodes that takes the place of the vendors' release pages, " +
				"as `ocihpc-runner mirror` makes it. Default: the vendors' pages.",
			Optional: true,
		},
		"data_root": schema.StringAttribute{
			MarkdownDescription: "Directory for images and containers, such as `/mnt/localdisk/containers`. Default: the engine's own. A change " +
				"pulls `images` into the new one; what is in the earlier one is neither moved nor removed.",
			Optional: true,
		},
		"images": schema.ListAttribute{
			MarkdownDescription: "Images to have on every node, by reference. Default: none. On a change those that are new are pulled; " +
				"those that are left out stay on the nodes.",
			Optional:    true,
			ElementType: types.StringType,
			Validators:  []validator.List{listvalidator.UniqueValues()},
		},
		"share_images": schema.BoolAttribute{
			MarkdownDescription: "Whether one node pulls each image from its registry, and the others get it from nodes that have it, " +
				"over an encrypted connection. A node that cannot get it so, because a firewall is between the nodes or the other one went " +
				"away, pulls it itself. Set it for large images or many nodes. Default: false, because a pull of its own shows of each " +
				"node that it reaches the registry, and fetches only the layers that it lacks. With Docker and Podman, images that are named by their digest are always pulled.",
			Optional: true, Computed: true,
			Default: booldefault.StaticBool(false),
		},
		"insecure_registries": schema.ListAttribute{
			MarkdownDescription: "Registries of a private network, as `host` or `host:port`, that are spoken to without a trusted " +
				"certificate, or over plain HTTP. Credentials travel to them in the clear. Default: none.",
			Optional:    true,
			ElementType: types.StringType,
			Validators:  []validator.List{listvalidator.UniqueValues()},
		},
		"proof_image": schema.StringAttribute{
			MarkdownDescription: "Image whose container runs `nvidia-smi -L` and must see all GPUs. Default: the first of `images`; without " +
				"one nothing is proven.",
			Optional: true,
		},
		"registry_auth_path": schema.StringAttribute{
			MarkdownDescription: "File on this machine with credentials of registries, in the form of `~/.docker/config.json` (`auths`). " +
				"It is read on apply; its content is in no state and no log, and on the nodes only in memory and only while they pull. " +
				"Default: images are pulled without a login.",
			Optional: true,
		},
		"max_sessions": schema.Int64Attribute{
			MarkdownDescription: "Nodes worked on at a time. Default: 64.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"max_downloads": schema.Int64Attribute{
			MarkdownDescription: "Nodes that download or pull at a time. Default: 16.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"max_uploads": schema.Int64Attribute{
			MarkdownDescription: "Nodes that get the runner from the head node; where there are more, they get it from these. Default: 8.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"max_transfers": schema.Int64Attribute{
			MarkdownDescription: "Nodes that one node gives the runner, or an image, to at a time. Default: 2.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"on_destroy": schema.StringAttribute{
			MarkdownDescription: "`keep` (default) leaves the nodes as they are when the resource is destroyed; `remove` takes away " +
				"what it put there, and nothing else.",
			Optional: true, Computed: true,
			Default:    stringdefault.StaticString(onDestroyKeep),
			Validators: []validator.String{stringvalidator.OneOf(onDestroyKeep, onDestroyRemove)},
		},
		"triggers": schema.MapAttribute{
			MarkdownDescription: "Any values; a change sets up again.",
			Optional:            true,
			ElementType:         types.StringType,
		},
		"timeouts": timeoutsAttribute(ctx, timeouts.Opts{
			Create: true, Update: true, Delete: true,
			CreateDescription: "Time for everything, waiting for the nodes included. Default: 60m.",
			UpdateDescription: "As create. Default: 60m.",
			DeleteDescription: "Time to remove, where `on_destroy` is `remove`. Default: 30m.",
		}),
	}
	for name, attribute := range containerRuntimeResultAttributes() {
		attributes[name] = attribute
	}
	return attributes
}

func containerRuntimeResultAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			MarkdownDescription: "Key of the job, made from its nodes and parameters. It names the job's directory below `~/.ocihpc/jobs` on the head node.",
			Computed:            true,
		},
		"outcome": schema.StringAttribute{
			MarkdownDescription: "`pass`, `warn` or `fail`: the worst of all nodes.", Computed: true,
		},
		"failure": schema.StringAttribute{
			MarkdownDescription: "Why the outcome is not `pass`; null when it is.", Computed: true,
		},
		"set_up_at": schema.StringAttribute{
			MarkdownDescription: "When the set-up ended (RFC 3339, UTC).", Computed: true,
		},
		"per_node": schema.ListNestedAttribute{
			MarkdownDescription: "Each node, as the last set-up left it.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name":          schema.StringAttribute{MarkdownDescription: "Name of the node.", Computed: true},
				"private_ip":    schema.StringAttribute{MarkdownDescription: "Address of the node.", Computed: true},
				"outcome":       schema.StringAttribute{MarkdownDescription: "`pass`, `warn`, `fail` or `could_not_run`.", Computed: true},
				"engine":        schema.StringAttribute{MarkdownDescription: "Engine that runs; null when it does not.", Computed: true},
				"versions":      schema.MapAttribute{MarkdownDescription: "Versions that are installed, by component.", Computed: true, ElementType: types.StringType},
				"images":        schema.MapAttribute{MarkdownDescription: "Digests of `images`, by reference.", Computed: true, ElementType: types.StringType},
				"gpus":          schema.ListAttribute{MarkdownDescription: "GPUs that a container saw, as `nvidia-smi -L` lists them.", Computed: true, ElementType: types.StringType},
				"changed_steps": schema.ListAttribute{MarkdownDescription: "Steps that changed something; empty when everything was in place.", Computed: true, ElementType: types.StringType},
			}},
		},
		"host_keys": hostKeysAttribute(),
	}
}
