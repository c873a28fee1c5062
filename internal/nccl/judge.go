// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Kinds of failure that only a comparison with what was asked for shows.
const (
	KindTooSlow         = "too_slow"         // below the expected bus bandwidth
	KindSlow            = "slow"             // below the bus bandwidth that warns
	KindUnsteady        = "unsteady"         // fast enough on average, but not in all iterations
	KindRegression      = "regression"       // slower than the baseline
	KindOtherBaseline   = "other_baseline"   // the baseline is of another kind of run
	KindWrongRanks      = "wrong_ranks"      // not the ranks or hosts that were asked for
	KindIndependentRuns = "independent_runs" // N runs of one process each instead of one run of N
	KindNotValidated    = "not_validated"    // nobody counted wrong values
	KindInconsistent    = "inconsistent"     // rows are missing: they do not add up to the report's average
	KindSizeNotReached  = "size_not_reached" // no size that the expectation is about
	KindNoBandwidth     = "no_bandwidth"     // rows without a bus bandwidth, or one rank, which has none
)

// Want is what a run was asked to be.
type Want struct {
	Ranks int // GPUs
	Hosts int
	// RDMA says that the hosts must talk by it, as NCCL's own log tells.
	RDMA bool
	NCCL *job.NCCLLog
}

// Verdict is what a run, or all repeats of it, are worth. A failure is [job.Fail] when the run was right but
// its results are not good enough (wrong values, too slow), and [job.CouldNotRun] for everything that keeps it
// from being judged.
type Verdict struct {
	Outcome job.Outcome
	// Failure says why the outcome is not a pass; nil when it is.
	Failure *job.Failure
	// Limits are those that were applied.
	Limits      []job.AppliedLimit
	Regressions []job.Regression
	// Remarks say what the verdict does not rest on, and why.
	Remarks []string
}

// add joins another verdict on the same run: the worse one decides.
func (v *Verdict) add(other Verdict) {
	if job.Worse(v.Outcome, other.Outcome) != v.Outcome || v.Outcome == "" {
		v.Outcome, v.Failure = other.Outcome, other.Failure
	} else if other.Outcome == v.Outcome && v.Failure != nil && other.Failure != nil {
		both := *v.Failure
		both.Message += "; " + other.Failure.Message
		v.Failure = &both
	}
	v.Limits = append(v.Limits, other.Limits...)
	v.Regressions = append(v.Regressions, other.Regressions...)
	v.Remarks = append(v.Remarks, other.Remarks...)
}

// Judge says what one run is worth. It looks at rows, never at the footer's average.
func Judge(reports []job.Report, failure *job.Failure, by Criteria, want Want) Verdict {
	if outcome, f := Right(reports, failure, want); outcome != job.Pass {
		return Verdict{Outcome: outcome, Failure: f}
	}
	return by.Judge(Summarise([]*job.Report{&reports[0]}))
}

// Right says whether a run is one complete run of what was asked for, with right values and the right
// transport. Its bandwidth is not judged.
func Right(reports []job.Report, failure *job.Failure, want Want) (job.Outcome, *job.Failure) {
	if failure != nil {
		if failure.Kind == KindWrongResults || failure.Kind == KindMinBandwidthMissed {
			return job.Fail, failure
		}
		return job.CouldNotRun, failure
	}
	if f := notOneRun(reports, want); f != nil {
		return job.CouldNotRun, f
	}
	report := &reports[0]
	if f := wrongResults(report); f != nil {
		return job.Fail, f
	}
	for _, find := range []func(*job.Report) *job.Failure{notValidated, withoutBandwidth, damagedRow, inconsistent} {
		if f := find(report); f != nil {
			return job.CouldNotRun, f
		}
	}
	if want.RDMA {
		return wrongTransport(want.NCCL)
	}
	return job.Pass, nil
}

// notOneRun looks for the one complete run of the ranks that were asked for.
func notOneRun(reports []job.Report, want Want) *job.Failure {
	if len(reports) == 0 {
		return notComplete(reports, false)
	}
	if len(reports) > 1 {
		return independentRuns(fmt.Sprintf("%d reports came from what should be one run", len(reports)))
	}
	report := &reports[0]
	if !report.Complete {
		return notComplete(reports, false)
	}
	ranks := map[int]bool{}
	for _, r := range report.Ranks {
		if ranks[r.Rank] {
			return independentRuns(fmt.Sprintf("rank %d reported more than once", r.Rank))
		}
		ranks[r.Rank] = true
	}
	hosts := len(report.Hosts())
	if len(ranks) != want.Ranks || hosts != want.Hosts {
		return &job.Failure{Kind: KindWrongRanks,
			Message: fmt.Sprintf("%s ran on %s on %s; %s on %s were asked for", collectiveName(report),
				plural(len(ranks), "rank"), plural(hosts, "host"), plural(want.Ranks, "rank"), plural(want.Hosts, "host")),
			Advice: "check that every node shows all its GPUs and that nccl-tests were built with MPI=1 against the Open MPI that starts them"}
	}
	return nil
}

func independentRuns(what string) *job.Failure {
	return &job.Failure{Kind: KindIndependentRuns, Message: what + ": the processes ran independently of each other",
		Advice: "nccl-tests must be built with MPI=1 against the Open MPI that starts them; a program built without MPI, or with another one, runs alone in every process"}
}

// uncheckedInPlace are the collectives whose in-place results nccl-tests never check.
var uncheckedInPlace = []string{"alltoall", "alltoallv", "sendrecv"}

// notValidated finds a report whose values nobody checked.
func notValidated(r *job.Report) *job.Failure {
	fail := func(what string) *job.Failure {
		return &job.Failure{Kind: KindNotValidated, Message: what,
			Advice: "run with -c 1 and nccl-tests 2.13 or newer, which count wrong values"}
	}
	if r.OutOfBounds == nil {
		return fail("the report does not say whether values were out of bounds")
	}
	for _, row := range r.Rows {
		if row.OutOfPlace == nil || row.InPlace == nil {
			return cutRow(row)
		}
		inPlaceToo := r.Collective != "" && !slices.Contains(uncheckedInPlace, r.Collective)
		if row.OutOfPlace.WrongResults == nil || inPlaceToo && row.InPlace.WrongResults == nil {
			return fail(fmt.Sprintf("the results at %s were not checked", FormatBytes(row.SizeBytes)))
		}
	}
	return nil
}

func cutRow(row job.Row) *job.Failure {
	return &job.Failure{Kind: KindIncomplete, Message: fmt.Sprintf("the row of %s lacks its measured values", FormatBytes(row.SizeBytes)),
		Advice: "other output was written into the table: run with NCCL_DEBUG_FILE, or NCCL_DEBUG=WARN"}
}

// withoutBandwidth finds rows that have no bus bandwidth.
func withoutBandwidth(r *job.Report) *job.Failure {
	if len(r.Rows) == 0 || r.AvgBusbwGBPerS == nil {
		return &job.Failure{Kind: KindNoBandwidth, Message: fmt.Sprintf("%s measured no size", collectiveName(r)),
			Advice: "hypercube needs a number of ranks that is a power of two; the sizes must not all be 0 after rounding"}
	}
	for _, row := range r.Rows {
		for _, p := range placements(row) {
			if p.busbw == nil || !isFinite(*p.busbw) {
				return &job.Failure{Kind: KindNoBandwidth,
					Message: fmt.Sprintf("%s has no bus bandwidth at %s %s", collectiveName(r), FormatBytes(row.SizeBytes), p.name),
					Advice:  "look at the raw output: the value there is not a number"}
			}
		}
	}
	return nil
}

// typeSizes are the bytes of an element, by nccl-tests' names of the types (those of builds against NCCL 1 too).
var typeSizes = map[string]int64{"int8": 1, "char": 1, "uint8": 1, "f8e4m3": 1, "f8e5m2": 1, "half": 2, "bfloat16": 2,
	"int32": 4, "int": 4, "uint32": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8}

// damagedRow finds a row whose size and count do not belong together, and one that is there twice: a damaged size
// could escape a limit.
func damagedRow(r *job.Report) *job.Failure {
	const advice = "other output was written into the table: run with NCCL_DEBUG_FILE, or NCCL_DEBUG=WARN"
	for i, row := range r.Rows {
		if !fitsSize(r.Collective, row) {
			return &job.Failure{Kind: KindInconsistent, Advice: advice,
				Message: fmt.Sprintf("a row of %s has %d elements of type %s, which is another size: it was damaged", FormatBytes(row.SizeBytes), row.Count, row.Type)}
		}
		if row.SizeBytes > 0 && slices.ContainsFunc(r.Rows[:i], func(other job.Row) bool { return reflect.DeepEqual(row, other) }) {
			return &job.Failure{Kind: KindInconsistent, Message: fmt.Sprintf("the row of %s is there twice", FormatBytes(row.SizeBytes)), Advice: advice}
		}
	}
	return nil
}

// fitsSize says whether a row's size is that of its elements: once, or, where the count is that of a rank's part,
// a number of times.
func fitsSize(collective string, row job.Row) bool {
	each := row.Count * typeSizes[row.Type]
	switch {
	case typeSizes[row.Type] == 0, collective == "alltoallv": // a type of another version; parts of any size
		return true
	case each <= 0:
		return row.SizeBytes == 0
	case slices.Contains([]string{"all_reduce", "broadcast", "reduce", "sendrecv"}, collective):
		return row.SizeBytes == each
	}
	return row.SizeBytes%each == 0
}

// inconsistent compares the rows with the footer's average, which is their unweighted mean over both
// placements. A difference beyond rounding means that rows were lost or damaged on the way here.
func inconsistent(r *job.Report) *job.Failure {
	var sum, rounding float64
	n := 0
	for _, row := range r.Rows {
		for _, p := range placements(row) {
			sum += *p.busbw
			rounding += roundingOf(*p.busbw)
			n++
		}
	}
	mean, average := sum/float64(n), *r.AvgBusbwGBPerS
	if math.Abs(mean-average) <= rounding/float64(n)+1e-5*math.Abs(average)+1e-6 {
		return nil
	}
	return &job.Failure{Kind: KindInconsistent,
		Message: fmt.Sprintf("the %d rows have a mean bus bandwidth of %.4g GB/s, but the report's own average is %.4g GB/s: rows were lost or damaged", len(r.Rows), mean, average),
		Advice:  "other output was written into the table: run with NCCL_DEBUG_FILE, or NCCL_DEBUG=WARN"}
}

// roundingOf gives how far a printed bandwidth may be from the real one: it has two decimals, and fewer
// when it would be wider than six characters.
func roundingOf(value float64) float64 {
	switch {
	case value < 999.995:
		return 0.005
	case value < 9999.95:
		return 0.05
	case value < 999999.5:
		return 0.5
	}
	return value / 10
}

type placement struct {
	name  string
	busbw *float64
}

func placements(row job.Row) [2]placement {
	result := [2]placement{{name: "out of place"}, {name: "in place"}}
	for i, half := range []*job.Placement{row.OutOfPlace, row.InPlace} {
		if half != nil {
			result[i].busbw = half.BusbwGBPerS
		}
	}
	return result
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
