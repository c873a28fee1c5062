// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"errors"
	"os"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// finishing closes the connections and takes the job's secrets away.
type finishing struct{ *work }

func (finishing) Name() job.Phase { return job.PhaseFinishing }
func (finishing) Title() string   { return "Finish" }

func (p finishing) Run(ctx context.Context) error {
	var problems []error
	p.containers.end()
	for _, b := range p.batches {
		b.Forget(ctx)
	}
	for _, n := range p.nodes {
		if n.close != nil {
			problems = append(problems, n.close())
		}
	}
	for _, secret := range []string{p.Dir.Key(), p.Dir.RegistryAuth()} {
		if err := os.Remove(secret); err != nil && !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// result puts together what was found; stop is why the phases ended early, if they did.
func (w *work) result(stop *Stop) job.Result {
	r := job.Result{
		Version: job.Version, Key: w.Job.Key(), Outcome: job.Pass, Nodes: []job.NodeResult{}, Runs: w.runs, Summaries: w.summaries,
		Suspects: w.suspects, ReplaceNodes: w.Job.ToReplace(w.suspects), Conclusion: w.conclusion, Tuned: w.tuned,
	}
	if r.Runs == nil {
		r.Runs = []job.Measurement{}
	}
	if stop != nil {
		r.Outcome, r.Failure = stop.Outcome, &stop.Failure
	}
	for _, m := range w.runs {
		if m.Scope == job.ScopeGroup || m.Scope == job.ScopeRail { // what they serve has its own verdict
			continue
		}
		if worst := job.Worse(r.Outcome, m.Outcome); worst != r.Outcome {
			r.Outcome, r.Failure = worst, m.Failure
		}
	}
	for _, s := range w.summaries {
		if worst := job.Worse(r.Outcome, s.Outcome); worst != r.Outcome {
			r.Outcome, r.Failure = worst, s.Failure
		}
	}
	if r.Outcome == job.CouldNotRun && stop == nil && w.found() { // the verdict is on those that were found
		r.Outcome = job.Fail
	}
	for _, n := range w.nodes {
		r.Nodes = append(r.Nodes, n.found)
		outcome, message := summary(n.found.Checks)
		if worst := job.Worse(r.Outcome, outcome); worst != r.Outcome {
			r.Outcome = worst
			r.Failure = &job.Failure{Kind: "check_warned", Node: n.Name, Message: n.Name + ": " + message}
		}
	}
	return r
}
