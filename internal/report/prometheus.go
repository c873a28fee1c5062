// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Prometheus writes the result in Prometheus' text format, for node_exporter's textfile collector or a push gateway. The
// error is the writer's.
func Prometheus(w io.Writer, r job.Result) error {
	m := metrics{out: bufio.NewWriter(w)}
	m.family("ocihpc_outcome", "Whether the result has this outcome.")
	m.outcome(r.Outcome, nil)
	m.family("ocihpc_finished_timestamp_seconds", "When the measurement ended.")
	if !r.FinishedAt.IsZero() {
		m.sample(float64(r.FinishedAt.UnixMilli())/1000, nil)
	}
	m.family("ocihpc_node_outcome", "Whether a node, by its checks and its own run, has this outcome.")
	for _, node := range r.Nodes {
		m.outcome(r.NodeOutcome(node.Name), []label{{"node", node.Name}})
	}
	m.family("ocihpc_check_outcome", "Whether a check of a node has this outcome.")
	for _, node := range r.Nodes {
		for _, check := range node.Checks {
			m.outcome(check.Outcome, []label{{"node", node.Name}, {"check", check.Name}})
		}
	}
	m.family("ocihpc_suspect", "A node, GPU, rail or link that the runs point at.")
	for _, s := range r.Suspects {
		index := ""
		if s.Index != nil {
			index = strconv.Itoa(*s.Index)
		}
		m.sample(1, []label{{"kind", string(s.Kind)}, {"nodes", strings.Join(s.Nodes, ",")}, {"index", index}, {"confidence", string(s.Confidence)}})
	}
	m.values(r, "ocihpc_nccl_busbw_bytes_per_second", "Bus bandwidth of nccl-tests.", 1e9, busbw)
	m.values(r, "ocihpc_nccl_time_seconds", "Mean time of one operation.", 1e-6, timeUS)
	m.values(r, "ocihpc_nccl_wrong_values", "Wrong values.", 1, func(p *job.Placement) *float64 {
		if p.WrongResults == nil {
			return nil
		}
		wrong := float64(*p.WrongResults)
		return &wrong
	})
	if err := m.out.Flush(); err != nil {
		return fmt.Errorf("write Prometheus' text format: %w", err)
	}
	return nil
}

type label struct{ name, value string }

type metrics struct {
	out  *bufio.Writer // keeps the first error
	name string
}

// family starts a metric, a gauge.
func (m *metrics) family(name, help string) {
	m.name = name
	_, _ = fmt.Fprintf(m.out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

func (m *metrics) sample(value float64, labels []label) {
	_, _ = m.out.WriteString(m.name)
	for i, l := range labels {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		_ = m.out.WriteByte(before)
		_, _ = fmt.Fprintf(m.out, `%s="%s"`, l.name, labelValue.Replace(l.value))
	}
	if len(labels) > 0 {
		_ = m.out.WriteByte('}')
	}
	_, _ = fmt.Fprintf(m.out, " %s\n", strconv.FormatFloat(value, 'g', -1, 64))
}

var labelValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// outcomes are a state set: one of them is 1.
var outcomes = []job.Outcome{job.Pass, job.Warn, job.Fail, job.CouldNotRun, job.CannotTell}

func (m *metrics) outcome(is job.Outcome, labels []label) {
	for _, o := range outcomes {
		value := 0.0
		if o == is {
			value = 1
		}
		m.sample(value, append(labels[:len(labels):len(labels)], label{"outcome", string(o)}))
	}
}

// values are those of every size of every first run; the repeats have labels of their own.
func (m *metrics) values(r job.Result, name, help string, factor float64, value func(*job.Placement) *float64) {
	m.family(name, help)
	seen := map[string]bool{}
	for _, run := range r.Runs {
		if run.Report == nil {
			continue
		}
		for _, row := range run.Report.Rows {
			for _, half := range []struct {
				name string
				p    *job.Placement
			}{{"out_of_place", row.OutOfPlace}, {"in_place", row.InPlace}} {
				if half.p == nil || value(half.p) == nil {
					continue
				}
				labels := []label{
					{"scope", string(run.Scope)}, {"nodes", strings.Join(run.Nodes, ",")}, {"collective", run.Report.Collective},
					{"size_bytes", fmt.Sprint(row.SizeBytes)}, {"type", row.Type}, {"redop", row.RedOp}, {"placement", half.name},
					{"repeat", strconv.Itoa(max(1, run.Repeat))}, {"purpose", run.Purpose},
				}
				if key := fmt.Sprint(labels); !seen[key] { // a sample must be there once
					seen[key] = true
					m.sample(*value(half.p)*factor, labels)
				}
			}
		}
	}
}
