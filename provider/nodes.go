// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// nodeModel is one node of a resource that has work done on nodes.
type nodeModel struct {
	ID        types.String `tfsdk:"id"`
	Hostname  types.String `tfsdk:"hostname"`
	PrivateIP types.String `tfsdk:"private_ip"`
}

func nodesAttribute(description string) schema.Attribute {
	return schema.ListNestedAttribute{
		MarkdownDescription: description,
		Required:            true,
		Validators:          []validator.List{listvalidator.SizeAtLeast(1)},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				MarkdownDescription: "OCID of the instance. With it, a replaced node is told from one whose host key changed.",
				Optional:            true,
			},
			"hostname": schema.StringAttribute{
				MarkdownDescription: "Name of the node in messages and results. Default: its address.",
				Optional:            true,
			},
			"private_ip": schema.StringAttribute{
				MarkdownDescription: "Address by which the bastion and the other nodes reach it.",
				Required:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
		}},
	}
}

func jobNodes(models []nodeModel) []job.Node {
	nodes := make([]job.Node, 0, len(models))
	for _, m := range models {
		name := m.Hostname.ValueString()
		if name == "" {
			name = m.PrivateIP.ValueString()
		}
		nodes = append(nodes, job.Node{ID: m.ID.ValueString(), Name: name, Address: m.PrivateIP.ValueString()})
	}
	return nodes
}

// nodesName names nodes in messages, by the first one.
func nodesName(nodes []job.Node) string {
	if len(nodes) == 1 {
		return nodes[0].Name
	}
	return fmt.Sprintf("%s and %d more", nodes[0].Name, len(nodes)-1)
}

// keepOwn drops the host keys of nodes that are no longer listed.
func keepOwn(hostKeys map[string]string, nodes []job.Node) {
	own := map[string]bool{remote.BastionID: true}
	for _, node := range nodes {
		own[remote.HostKeyID(node)] = true
	}
	maps.DeleteFunc(hostKeys, func(id, _ string) bool { return !own[id] })
}

// distinctNodes refuses a node that is listed twice.
type distinctNodes struct{}

func (distinctNodes) Description(context.Context) string               { return "each node is listed once" }
func (v distinctNodes) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (distinctNodes) ValidateResource(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var nodes types.List
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("nodes"), &nodes)...)
	if nodes.IsNull() || nodes.IsUnknown() {
		return
	}
	first := map[string]int{}
	for i, element := range nodes.Elements() {
		node, ok := element.(types.Object)
		if !ok {
			continue
		}
		address, ok := node.Attributes()["private_ip"].(types.String)
		if !ok || address.IsNull() || address.IsUnknown() {
			continue
		}
		if j, seen := first[address.ValueString()]; seen {
			resp.Diagnostics.AddAttributeError(path.Root("nodes").AtListIndex(i).AtName("private_ip"), "Node listed twice",
				fmt.Sprintf("%s is the address of nodes[%d] as well.", address.ValueString(), j))
			continue
		}
		first[address.ValueString()] = i
	}
}
