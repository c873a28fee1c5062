// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// defaultTimeout follows Oracle's own HPC stack: OCI launches in batches of about 20 nodes, and allows
// half an hour for each.
func defaultTimeout(size int64) time.Duration {
	batches := (size + 19) / 20
	return max(60*time.Minute, time.Duration(batches)*30*time.Minute)
}

// logProgress writes to the log what a person who waits wants to know.
func logProgress(ctx context.Context) func(oci.Progress) {
	return func(p oci.Progress) {
		fields := map[string]any{
			"id": p.Cluster.ID, "state": p.Cluster.State, "nodes": p.Cluster.CurrentSize, "wanted": p.Wanted,
			"elapsed": p.Elapsed.Round(time.Second).String(),
		}
		if p.Ready > 0 { // It is not counted before all nodes are there.
			fields["running"] = p.Ready
		}
		if p.Stale > 0 {
			fields["replaced"], fields["still_to_replace"] = p.Replaced, p.Stale
		}
		if deadline, limited := ctx.Deadline(); limited {
			fields["time_left"] = time.Until(deadline).Round(time.Minute).String()
		}
		for _, w := range p.Working {
			fields["work_request_"+w.Operation] = fmt.Sprintf("%.0f %% (%s)", w.PercentComplete, w.ID)
		}
		tflog.Info(ctx, "GPU cluster "+p.Cluster.DisplayName+" is "+p.Cluster.State, fields)
	}
}

// unfinished says why the wait ended early and how to go on.
func unfinished(ctx context.Context, m *gpuClusterModel, timeout time.Duration, err error) string {
	next := "OCI goes on with it, and it is recorded: apply again to carry on until it is complete."
	if m.Interconnect.ValueString() == string(oci.ComputeCluster) { // whose nodes the provider launches one by one
		next = "What OCI has accepted goes on, and is recorded: apply again to have the rest done."
	}
	var roll *oci.RollError
	if errors.As(err, &roll) {
		next, err = roll.Account(), roll.Err
	}
	why := explain(err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		why = "The apply was interrupted."
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = fmt.Sprintf("It did not become complete within %s. If the cluster is merely slow, give it more time in the timeouts attribute.", timeout)
	}
	seen := fmt.Sprintf("OCI has accepted %s, and has not shown it yet.", m.ID.ValueString())
	if !m.State.IsNull() {
		seen = fmt.Sprintf("Last seen: %s is %s with %d of %d nodes.", m.ID.ValueString(), m.State.ValueString(), m.CurrentSize.ValueInt64(), m.Size.ValueInt64())
	}
	return fmt.Sprintf("%s\n\n%s %s Follow its progress with TF_LOG_PROVIDER=INFO.", why, seen, next)
}

// addCreateError reports a cluster that was not made. One that is there already can be taken over.
func addCreateError(diags *diag.Diagnostics, name string, err error) {
	var orphan *oci.OrphanError
	if !errors.As(err, &orphan) {
		addClusterError(diags, "create", name, err)
		return
	}
	diags.AddError(unableTo("create", gpuCluster, name), fmt.Sprintf(
		"The compartment has a GPU cluster of this name already, made by this provider:\n\n"+
			"  %s\n\n"+
			"It is %s, has %d nodes, and was created %s. Nothing was created now.\n\n"+
			"If an apply that was killed has left it, take it over with the address of this resource, as named above, and apply again:\n\n"+
			"  terraform import ADDRESS %s\n\n"+
			"If another configuration manages it, or if it is to be replaced with create_before_destroy, choose another display_name.",
		orphan.ID, orphan.State, orphan.Size, orphan.TimeCreated.UTC().Format(time.RFC3339), orphan.ID))
}

// keptTainted says what Terraform does with a cluster whose create has failed, and how to avoid that.
func (m *gpuClusterModel) keptTainted() string {
	return fmt.Sprintf("What there is of it, %d of %d nodes, runs on, and is recorded as tainted: the next apply destroys it and creates another. "+
		"To keep it, run this with the address of the resource, as named above, and apply again to go on, with another size if need be:\n\n"+
		"  terraform untaint ADDRESS", m.CurrentSize.ValueInt64(), m.Size.ValueInt64())
}
