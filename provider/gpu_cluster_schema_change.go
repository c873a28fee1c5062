// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Update strategies.
const (
	newNodesOnly = "new_nodes_only"
	rolling      = "rolling"
)

// gpuClusterChange are the attributes that say how a change is carried out.
func gpuClusterChange() map[string]schema.Attribute {
	instances := []validator.Set{setvalidator.ValueStringsAre(ocid("instance"))}
	return map[string]schema.Attribute{
		"update_strategy": schema.StringAttribute{
			MarkdownDescription: "What a change of the image, of `user_data` or of anything else that nodes are launched with does to running nodes: " +
				"`new_nodes_only` leaves them as they are and lists them in `stale_nodes`; `rolling` replaces them, `max_unavailable` at a time, each running before the next goes. " +
				"An interrupted roll is carried on with by the next apply. Default: `new_nodes_only`. A change to `rolling` replaces the nodes that are stale by then.",
			Optional:   true,
			Validators: []validator.String{stringvalidator.OneOf(newNodesOnly, rolling)},
		},
		"max_unavailable": schema.Int64Attribute{
			MarkdownDescription: "How many nodes `update_strategy = \"rolling\"` replaces at a time. Default: 1." + nextApply,
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"remove_nodes": schema.SetAttribute{
			MarkdownDescription: "OCIDs of nodes to terminate when `size` shrinks; `size` must be smaller by as many. Nodes that are no longer there are no error, so that the " +
				"list can stay as it is. A node that is added here is terminated with its local disks.",
			ElementType: types.StringType,
			Optional:    true,
			Validators:  instances,
		},
		"replace_nodes": schema.SetAttribute{
			MarkdownDescription: "OCIDs of nodes to terminate and to launch anew, `size` staying as it is. Nodes that are no longer there are no error, so that the list can " +
				"stay as it is. A node that is added here is terminated with its local disks.",
			ElementType: types.StringType,
			Optional:    true,
			Validators:  instances,
		},
		"report_unhealthy": schema.BoolAttribute{
			MarkdownDescription: "Whether nodes in `remove_nodes` and `replace_nodes` are reported to Oracle for repair before they are terminated, by the defined tag " +
				"`ComputeInstanceHostActions.CustomerReportedHostStatus = unhealthy`. The tag name space must exist. Default: `false`." + nextApply,
			Optional: true,
		},
		"preflight": schema.BoolAttribute{
			MarkdownDescription: "Whether a plan that launches nodes asks OCI for free hosts and for service limits, and warns where they do not suffice. It is never an error: " +
				"OCI's answer is a hint. Default: `false`." + nextApply,
			Optional: true,
		},
	}
}
