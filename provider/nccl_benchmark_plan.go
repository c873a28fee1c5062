// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// ModifyPlan plans a new measurement where the last one must not stand, and says why there is one.
func (r *ncclBenchmarkResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	reason := types.StringValue("it was never measured")
	if !req.State.Raw.IsNull() {
		reason = measureAgain(ctx, req, time.Now(), &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	for name, attribute := range benchmarkAttributes(ctx) {
		at := path.Root(name)
		switch {
		case !isResult(attribute):
		case reason.IsNull(): // the framework expects other results as soon as anything else changes
			var last attr.Value
			resp.Diagnostics.Append(req.State.GetAttribute(ctx, at, &last)...)
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, at, last)...)
		case name != "id": // the same work has the same key
			of := attribute.GetType()
			unknown, err := of.ValueFromTerraform(ctx, tftypes.NewValue(of.TerraformType(ctx), tftypes.UnknownValue))
			if err != nil { // every type has an unknown value
				resp.Diagnostics.AddAttributeError(at, unableTo("plan", "attribute", name), err.Error())
				return
			}
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, at, unknown)...)
		}
	}
	if !reason.IsNull() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("measured_because"), reason)...)
	}
}

// isResult says that an attribute is the provider's alone.
func isResult(a schema.Attribute) bool { return a.IsComputed() && !a.IsOptional() }

// saysHow says that an attribute is about how nodes are reached, or how long a measurement is good for: a change of it alone
// contacts no node.
func saysHow(name string) bool { return slices.Contains([]string{"ssh", "timeouts", "max_age"}, name) }

// measureAgain gives the reason to; null lets the last measurement stand. Terraform asks again once it knows all values, and
// takes no other answer then: the reason is unknown as long as one of them is, and does not depend on the time.
func measureAgain(ctx context.Context, req resource.ModifyPlanRequest, now time.Time, diags *diag.Diagnostics) types.String {
	var reasons, changed []string
	for name, attribute := range benchmarkAttributes(ctx) {
		if isResult(attribute) {
			continue
		}
		var before, after attr.Value
		diags.Append(req.State.GetAttribute(ctx, path.Root(name), &before)...)
		diags.Append(req.Plan.GetAttribute(ctx, path.Root(name), &after)...)
		if diags.HasError() {
			return types.StringNull()
		}
		if value, err := after.ToTerraformValue(ctx); err != nil || !value.IsFullyKnown() {
			return types.StringUnknown()
		}
		switch {
		case saysHow(name) || before.Equal(after):
		case name == "nodes":
			reasons = append(reasons, changeOfNodes(before, after))
		default:
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		reasons = append(reasons, "changed: "+strings.Join(changed, ", "))
	}
	if len(reasons) == 0 {
		reasons = lastCannotStand(ctx, req, now, diags)
	}
	if len(reasons) == 0 {
		return types.StringNull()
	}
	return types.StringValue(strings.Join(reasons, "; "))
}

// lastCannotStand gives the reasons that lie in the last measurement itself.
func lastCannotStand(ctx context.Context, req resource.ModifyPlanRequest, now time.Time, diags *diag.Diagnostics) []string {
	var outcome, measuredAt, onFailure, maxAge types.String
	for name, value := range map[string]*types.String{"outcome": &outcome, "measured_at": &measuredAt} {
		diags.Append(req.State.GetAttribute(ctx, path.Root(name), value)...)
	}
	for name, value := range map[string]*types.String{"on_failure": &onFailure, "max_age": &maxAge} {
		diags.Append(req.Plan.GetAttribute(ctx, path.Root(name), value)...)
	}
	var reasons []string
	if outcome.ValueString() == string(job.Fail) && onFailure.ValueString() == onFailureFail {
		reasons = append(reasons, "the last verdict was a failure")
	}
	if outdated(now, measuredAt, maxAge) {
		reasons = append(reasons, fmt.Sprintf("it was measured at %s, and max_age is %s", measuredAt.ValueString(), maxAge.ValueString()))
	}
	return reasons
}

// changeOfNodes says which nodes came and went.
func changeOfNodes(before, after attr.Value) string {
	was, now := namesOfNodes(before), namesOfNodes(after)
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(others, name) })
	}
	var parts []string
	if added := without(now, was); len(added) > 0 {
		parts = append(parts, "new: "+nameSome(added))
	}
	if gone := without(was, now); len(gone) > 0 {
		parts = append(parts, "gone: "+nameSome(gone))
	}
	if len(parts) == 0 {
		return "the nodes' order or addresses change"
	}
	return "nodes " + strings.Join(parts, ", ")
}

// namesOfNodes gives what tells nodes apart.
func namesOfNodes(list attr.Value) []string {
	nodes, ok := list.(types.List)
	if !ok {
		return nil
	}
	var names []string
	for _, element := range nodes.Elements() {
		node, ok := element.(types.Object)
		if !ok {
			continue
		}
		var words []string
		for _, field := range []string{"hostname", "id", "private_ip"} {
			value, ok := node.Attributes()[field].(types.String)
			if ok && value.ValueString() != "" && len(words) < 2 {
				words = append(words, value.ValueString())
			}
		}
		names = append(names, strings.Join(words, " "))
	}
	return names
}

// nameSome names a few.
func nameSome(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func outdated(now time.Time, measuredAt, maxAge types.String) bool {
	most, err := time.ParseDuration(maxAge.ValueString())
	if err != nil { // there is none
		return false
	}
	at, err := time.Parse(time.RFC3339, measuredAt.ValueString())
	return err == nil && now.Sub(at) > most
}
