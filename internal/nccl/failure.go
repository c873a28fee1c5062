// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Kinds of failure that the output itself shows. Those after a complete report are KindWrongResults and
// KindMinBandwidthMissed; with every other one there is nothing to judge.
const (
	KindNoOutput           = "no_output"            // nothing printed, or nothing of nccl-tests
	KindIncomplete         = "incomplete"           // the report has no end
	KindUnknownOption      = "unknown_option"       // usage text instead of a run, exit status 0
	KindBadSize            = "bad_size"             // -b, -e or -i is no size, or out of order
	KindInvalidUsage       = "invalid_usage"        // options that do not go together
	KindNotImplemented     = "not_implemented"      // this build or NCCL cannot do it
	KindTooFewGPUs         = "too_few_gpus"         // more GPUs asked for than the host has
	KindCUDAError          = "cuda_error"           // "Test CUDA failure"
	KindNCCLError          = "nccl_error"           // "Test NCCL failure"
	KindTimeout            = "timeout"              // -T, or timeout(1)
	KindMPIStartFailed     = "mpi_start_failed"     // mpirun or srun started no or not all processes
	KindConnectionLost     = "connection_lost"      // the head node lost a node that ranks ran on
	KindTestsMissing       = "nccl_tests_missing"   // no such program
	KindLibraryMissing     = "library_missing"      // the program does not find a shared library
	KindKilled             = "killed"               // ended by SIGKILL, SIGTERM or SIGINT
	KindCrashed            = "crashed"              // ended by another signal
	KindNonzeroExit        = "nonzero_exit"         // a status that nothing in the output explains
	KindWrongResults       = "wrong_results"        // values were wrong
	KindMinBandwidthMissed = "min_bandwidth_missed" // the environment's NCCL_TESTS_MIN_BW
)

// sign is a text by which a failure is recognised. Submatches fill the message's verbs in order.
type sign struct {
	pattern        *regexp.Regexp
	kind           string
	message        string // "" is the line itself
	advice         string
	unlessComplete bool // decides only when there is no complete report
	unlessClean    bool // decides only when there is none, or the exit status is not 0
	nodeSubmatch   int
}

// allSigns in the order in which they decide: what stopped the run from starting, then what stopped it.
var allSigns = []sign{
	{pattern: regexp.MustCompile(`unrecognized option '([^']*)'|invalid option -- '(.)'`), kind: KindUnknownOption,
		message: "nccl-tests do not know the option %[1]s and printed their usage instead of running",
		advice:  "the option belongs to another nccl-tests version: leave it out, or install that version"},
	{pattern: regexp.MustCompile(`^USAGE: \S+_perf`), kind: KindUnknownOption,
		message: "nccl-tests printed their usage instead of running",
		advice:  "check the options: nccl-tests exit with status 0 after an unknown one"},
	{pattern: regexp.MustCompile(`^invalid sizes? (?:specified )?for '`), kind: KindBadSize,
		advice: "sizes are whole numbers of bytes with an optional K, M or G (binary); the least must not be above the largest"},
	{pattern: regexp.MustCompile(`Invalid number of GPUs: ([0-9]+) requested but only ([0-9]+) were found`), kind: KindTooFewGPUs,
		message: "%[1]s GPUs were asked for, but only %[2]s were found",
		advice:  "compare with nvidia-smi -L on the node; ask for no more processes times GPUs than a node has"},
	{pattern: regexp.MustCompile(`(\S+): Test CUDA failure \S+ 'invalid device ordinal'`), kind: KindTooFewGPUs, nodeSubmatch: 1,
		message: "%[1]s has fewer GPUs than were asked for (CUDA: invalid device ordinal)",
		advice:  "compare with nvidia-smi -L on the node; ask for no more processes times GPUs than a node has"},
	{pattern: regexp.MustCompile(`error while loading shared libraries: ([^:\s]+)`), kind: KindLibraryMissing,
		message: "nccl-tests could not load %[1]s",
		advice:  "install the library on every node, or put its directory into LD_LIBRARY_PATH"},
	{pattern: regexp.MustCompile(`unable to find the specified executable file|as it could not access|_perf: (?:command not found|No such file or directory|not found)`),
		kind: KindTestsMissing, unlessComplete: true,
		message: "the nccl-tests program was not found on a node",
		advice:  "have nccl-tests at the same path on every node, or in the image that the ranks run in, and name their folder (nccl_tests_dir) where it is neither in PATH nor a known place"},
	{pattern: regexp.MustCompile(`not enough slots available`), kind: KindMPIStartFailed, unlessComplete: true,
		message: "mpirun has fewer slots than processes were asked for",
		advice:  "give every host as many slots as it has GPUs (--host NAME:8)"},
	{pattern: regexp.MustCompile(`attempt to run as root`), kind: KindMPIStartFailed, unlessComplete: true,
		message: "mpirun refuses to run as root",
		advice:  "run as the login user"},
	{pattern: regexp.MustCompile(`MCA parameter "(?:prte_)?plm_[rs]sh_agent" was set to a path`), kind: KindMPIStartFailed, unlessComplete: true,
		message: "mpirun finds no ssh, which it starts its daemons on other nodes by",
		advice:  "install an SSH client where mpirun runs, such as in the image, or let the runner start the ranks (launcher mpirun), which needs none"},
	{pattern: regexp.MustCompile(`^(?:ssh: |Host key verification failed|.*Permission denied \(publickey|.*Could not resolve hostname)`),
		kind: KindMPIStartFailed, unlessComplete: true,
		advice: "the head node must reach every node by SSH: check address, security list and keys"},
	{pattern: regexp.MustCompile(`^ocihpc-runner rsh: \S+: (\S+): connection lost: (.*)`), kind: KindConnectionLost, unlessClean: true, nodeSubmatch: 1,
		message: "the connection to %[1]s was lost: %[2]s",
		advice:  "check that the node is up and that the head node reaches it; if it was only held up for a while, apply again"},
	{pattern: regexp.MustCompile(`(?:ORTE|PRTE|prte) .*(?:unable to reliably start|unexpectedly failed|lost communication|does not know how to route)`),
		kind: KindMPIStartFailed, unlessComplete: true,
		message: "mpirun could not start its daemon on every node",
		advice:  "the reason is in the log; the same Open MPI must be installed at the same path on every node, and the nodes must reach each other on every port"},
	{pattern: regexp.MustCompile(`are unable to reach each\s*other|MPI_INIT failed|MPI_Init\w* .*(?:failed|error)|mpirun was unable to (?:launch|start)|^srun: error: (?:Unable|Task launch|Cannot|Invalid)`),
		kind: KindMPIStartFailed, unlessComplete: true,
		message: "the MPI processes did not start or did not reach each other",
		advice:  "check that MPI uses the network that joins the nodes (btl_tcp_if_include) and that no firewall is between them"},
	{pattern: regexp.MustCompile(`(\S+): Test NCCL failure \S+ '(.*)'`), kind: KindNCCLError, nodeSubmatch: 1,
		message: "NCCL failed on %[1]s: %[2]s",
		advice:  "run again with NCCL_DEBUG=INFO; the first NCCL WARN line of that node usually names the cause"},
	{pattern: regexp.MustCompile(`(\S+): Test CUDA failure \S+ '(.*)'`), kind: KindCUDAError, nodeSubmatch: 1,
		message: "CUDA failed on %[1]s: %[2]s",
		advice:  "look at nvidia-smi and at the kernel log of that node for Xid errors"},
	{pattern: regexp.MustCompile(`(\S+): Test timeout \(([^)]*)\)`), kind: KindTimeout, nodeSubmatch: 1,
		message: "a collective on %[1]s did not end within %[2]s",
		advice:  "run pairs of nodes to find the one that hangs"},
	{pattern: regexp.MustCompile(`(?:on node (\S+) )?exited on signal ([0-9]+)`), kind: "signal"},
}

// signs are those seen in an output so far, each with its first occurrence.
type signs struct {
	seen map[int][]string
}

func (s *signs) look(line string) {
	if strings.HasPrefix(line, "#") { // a report's own lines tell of no failure
		return
	}
	for i, sign := range allSigns {
		if _, ok := s.seen[i]; ok {
			continue
		}
		if match := sign.pattern.FindStringSubmatch(line); match != nil {
			if s.seen == nil {
				s.seen = map[int][]string{}
			}
			s.seen[i] = append([]string{strings.TrimSpace(line)}, match[1:]...)
		}
	}
}

// failure gives that of the first sign that decides; nil when there is none. A clean run has a complete report and ended
// with exit status 0.
func (s *signs) failure(complete, clean bool) *job.Failure {
	for i, sign := range allSigns {
		match, ok := s.seen[i]
		if !ok || sign.unlessComplete && complete || sign.unlessClean && clean {
			continue
		}
		if sign.kind == "signal" {
			number, _ := strconv.Atoi(match[2])
			f := killedBy(number)
			f.Node = match[1]
			return f
		}
		f := &job.Failure{Kind: sign.kind, Message: match[0], Advice: sign.advice}
		if sign.kind == KindUnknownOption && len(match) > 1 && match[1] == "" {
			match[1] = "-" + match[2] // getopt's words for a short option
		}
		if sign.message != "" {
			f.Message = fill(sign.message, match[1:])
		}
		if sign.nodeSubmatch > 0 {
			f.Node = match[sign.nodeSubmatch]
		}
		return f
	}
	return nil
}

// fill replaces %[1]s, %[2]s … by the values.
func fill(message string, values []string) string {
	for i, value := range values {
		message = strings.ReplaceAll(message, fmt.Sprintf("%%[%d]s", i+1), value)
	}
	return message
}

// failure says why the output holds no clean, complete report; nil when it does. Wrong values in a complete
// report are so, whatever else was said. What the text says comes before what the exit status says, because
// statuses changed their meaning between versions and mpirun gives that of one process only.
func (p *Parser) failure(reports []job.Report, exitStatus *int) *job.Failure {
	complete := len(reports) > 0
	for i := range reports {
		complete = complete && reports[i].Complete
	}
	if complete {
		for i := range reports {
			if f := wrongResults(&reports[i]); f != nil {
				return f
			}
		}
	}
	f := p.signs.failure(complete, complete && (exitStatus == nil || *exitStatus == 0))
	if f == nil && !complete {
		f = failureOfStatus(exitStatus, versionOf(reports))
	}
	if f != nil {
		p.nameHost(f)
		if len(reports) == 1 && !complete && len(reports[0].Ranks) > 0 {
			f.Message += "; the report stops " + whereItStops(&reports[0])
		}
		return f
	}
	if !complete {
		return notComplete(reports, p.empty)
	}
	for _, r := range p.reports {
		if r.averaged == "FAILED" {
			return minBandwidthMissed(r.AvgBusbwGBPerS)
		}
	}
	return failureAfterReport(exitStatus)
}

// nameHost frees the name of a failure's host from the row's value that it was glued to.
func (p *Parser) nameHost(f *job.Failure) {
	for _, host := range p.hosts() {
		if strings.HasSuffix(f.Node, host) {
			f.Message = strings.Replace(f.Message, f.Node, host, 1)
			f.Node = host
			return
		}
	}
}

// notComplete describes a run that did not reach its end, and how far it came.
func notComplete(reports []job.Report, empty bool) *job.Failure {
	const advice = "look at the end of the log; run again with NCCL_DEBUG=INFO"
	if empty {
		return &job.Failure{Kind: KindNoOutput, Message: "nccl-tests printed nothing", Advice: advice}
	}
	if len(reports) == 0 {
		return &job.Failure{Kind: KindNoOutput, Message: "the output holds no nccl-tests report", Advice: advice}
	}
	for _, r := range reports {
		if r.Complete {
			continue
		}
		return &job.Failure{Kind: KindIncomplete, Message: "the report has no end: it stops " + whereItStops(&r), Advice: advice}
	}
	return nil
}

func whereItStops(r *job.Report) string {
	switch {
	case len(r.Rows) > 0:
		last := r.Rows[len(r.Rows)-1]
		if last.OutOfPlace == nil || last.InPlace == nil {
			return fmt.Sprintf("while measuring %s", FormatBytes(last.SizeBytes))
		}
		return fmt.Sprintf("after %d sizes, the last of them %s", len(r.Rows), FormatBytes(last.SizeBytes))
	case len(r.Ranks) > 0:
		return fmt.Sprintf("before the first size; %d ranks had started", len(r.Ranks))
	default:
		return "before any rank had started"
	}
}

// wrongResults gives the failure of a report with wrong values; nil when it has none.
func wrongResults(r *job.Report) *job.Failure {
	wrong := r.Wrong()
	outOfBounds := r.OutOfBounds != nil && *r.OutOfBounds > 0
	if (wrong == nil || *wrong == 0) && !outOfBounds {
		return nil
	}
	message := fmt.Sprintf("%s gave wrong values", collectiveName(r))
	var sizes []string
	for _, row := range r.Rows {
		if n := max(wrongIn(row.OutOfPlace), wrongIn(row.InPlace)); n > 0 {
			sizes = append(sizes, fmt.Sprintf("%d at %s", n, FormatBytes(row.SizeBytes)))
		}
	}
	if len(sizes) > 0 {
		message += ": " + listed(sizes, 3)
	} else if outOfBounds {
		message += fmt.Sprintf(": %d checks failed", *r.OutOfBounds)
	}
	return &job.Failure{Kind: KindWrongResults, Message: message,
		Advice: "a GPU, a link or the software under it corrupts data: use no node of this run before each has passed alone"}
}

func wrongIn(p *job.Placement) int64 {
	if p == nil || p.WrongResults == nil {
		return 0
	}
	return *p.WrongResults
}

func minBandwidthMissed(average *float64) *job.Failure {
	message := "the average bus bandwidth is below the environment's NCCL_TESTS_MIN_BW"
	if average != nil {
		message = fmt.Sprintf("the average bus bandwidth of %.4g GB/s is below the environment's NCCL_TESTS_MIN_BW", *average)
	}
	return &job.Failure{Kind: KindMinBandwidthMissed, Message: message,
		Advice: "unset NCCL_TESTS_MIN_BW: the average depends on the sizes; expect a bandwidth for chosen sizes instead"}
}

// listed joins the first few.
func listed(items []string, most int) string {
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
	}
	return strings.Join(items, ", ")
}

// FormatBytes gives a size in binary units, such as 256 MiB, exact or not at all: other sizes stay in bytes (B).
func FormatBytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func collectiveName(r *job.Report) string { return nameOf(r.Collective) }

func nameOf(collective string) string {
	if collective == "" {
		return "the collective"
	}
	return collective
}
