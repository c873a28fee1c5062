// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// execution is a job that a resource has the nodes work on.
type execution struct {
	verb, noun   string // for messages: measure, measurement
	ssh          *sshModel
	known        map[string]string // host keys
	registryAuth []byte
	job          job.Job
	timeout      time.Duration
}

// execute has the nodes work on a job. ok is false when there is no result; diags says why.
func (d *providerData) execute(ctx context.Context, e execution, diags *diag.Diagnostics) (outcome remote.Outcome, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	summary := unableTo(e.verb, "nodes", nodesName(e.job.Nodes))

	access, err := e.ssh.access(ctx, d.SSHPrivateKey, e.known)
	if err != nil {
		diags.AddAttributeError(path.Root("ssh"), summary, sentence(err.Error()))
		return outcome, false
	}
	defer access.close()
	access.RegistryAuth = e.registryAuth
	runners, err := d.runners()
	if err != nil {
		diags.AddError(summary, sentence(err.Error()))
		return outcome, false
	}
	access.OnWait = func(host string, reason error) {
		tflog.Info(ctx, e.noun+": waiting for "+host, map[string]any{"reason": reason.Error()})
	}
	outcome, err = remote.Execute(ctx, access.Access, e.job, runners, e.logEvent(ctx))
	if outcome.CleanupErr != nil {
		diags.AddWarning(unableTo("clean up", "nodes", nodesName(e.job.Nodes)),
			sentence(outcome.CleanupErr.Error())+"\n\nThe key is good for this job alone, and it expires by itself.")
	}
	if err != nil {
		diags.AddError(summary, e.explain(err))
		return outcome, false
	}
	return outcome, true
}

func (e execution) explain(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Sprintf("Interrupted. The %s goes on on the head node; the next apply picks it up from there.", e.noun)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("Not done within %s: %s\n\nThe next apply picks up a %s that is still running. "+
			"If the cluster needs longer, raise the timeouts.", e.timeout, err, e.noun)
	default:
		return sentence(err.Error())
	}
}

// logEvent logs what the runner reports: INFO for phases, DEBUG for the rest.
func (e execution) logEvent(ctx context.Context) func(job.Event) {
	return func(event job.Event) {
		fields := map[string]any{"phase": event.Phase, "node": event.Node, "outcome": event.Outcome, "done": event.Done, "total": event.Total}
		switch event.Type {
		case job.EventPhaseStarted, job.EventPhaseFinished, job.EventStarted, job.EventResult:
			tflog.Info(ctx, e.noun+": "+string(event.Type)+" "+event.Message, fields)
		default:
			tflog.Debug(ctx, e.noun+": "+event.Message, fields)
		}
	}
}

// explainFailure says what happened, where, and what to do next; then each check that did not pass.
func explainFailure(result *job.Result) string {
	var paragraphs []string
	if failure := result.Failure; failure != nil {
		paragraphs = append(paragraphs, sentence(failure.Message))
		if failure.Node != "" {
			paragraphs = append(paragraphs, "Node: "+failure.Node)
		}
		if failure.Advice != "" {
			paragraphs = append(paragraphs, sentence(failure.Advice))
		}
	}
	for _, node := range result.Nodes {
		if node.Setup != nil && node.Setup.Failure != nil {
			paragraphs = append(paragraphs, explainSetup(node))
		}
		for _, check := range node.Checks {
			if check.Outcome == job.Fail || check.Outcome == job.Warn {
				paragraphs = append(paragraphs, fmt.Sprintf("%s: check %s: %s: %s",
					node.Name, check.Name, check.Outcome, sentence(check.Message)))
			}
		}
	}
	paragraphs = append(paragraphs, fmt.Sprintf("Everything that was printed is on the head node in ~/%s.", job.DirOf(result.Key)))
	return strings.Join(paragraphs, "\n\n")
}

// explainSetup says which step failed on a node, what its programs printed, and what to do.
func explainSetup(node job.NodeResult) string {
	text := fmt.Sprintf("%s: %s", node.Name, sentence(node.Setup.Failure.Message))
	for _, step := range node.Setup.Steps {
		if step.Outcome == job.StepFailed && step.Output != "" {
			text += "\n" + step.Output
		}
	}
	if advice := node.Setup.Failure.Advice; advice != "" {
		text += "\n" + sentence(advice)
	}
	return text
}
