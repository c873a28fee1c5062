// SPDX-License-Identifier: MPL-2.0

package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// JUnit writes a result as JUnit's XML, for CI: a suite for every node, a case for every check, and a suite for the
// runs, of which the last case is the verdict over all of them and their repeats. What cannot be told is skipped; a warning passes, with its words in system-out. A node or
// run that could not be used is an error. The error is the writer's.
func JUnit(w io.Writer, result job.Result) error {
	all := junitSuites{Name: "ocihpc-runner"}
	for _, n := range result.Nodes {
		suite := junitSuite{Name: n.Name}
		if n.Facts == nil {
			suite.add("reachable", job.CouldNotRun, "the node could not be checked", "")
		}
		for _, c := range n.Checks {
			suite.add(c.Name, c.Outcome, c.Message, c.Advice)
		}
		all.add(suite)
	}
	if len(result.Runs) > 0 {
		suite := junitSuite{Name: "nccl-tests"}
		for _, r := range result.Runs {
			name := "all nodes"
			if r.Scope == job.ScopeNode {
				name = strings.Join(r.Nodes, " ") + " alone"
			} else if r.Purpose != "" {
				name = r.Purpose + ": " + strings.Join(r.Nodes, " ")
			}
			message, advice := peak(r.Report), ""
			if r.Failure != nil {
				message, advice = r.Failure.Message, r.Failure.Advice
			}
			suite.add(name, r.Outcome, message, advice)
			suite.Cases[len(suite.Cases)-1].Seconds = fmt.Sprintf("%.3f", r.Seconds)
		}
		var message, advice string
		if f := result.Failure; f != nil {
			message, advice = f.Message, f.Advice
		}
		suite.add("verdict", result.Outcome, message, advice)
		all.add(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCount
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCount
	Cases []junitCase `xml:"testcase"`
}

type junitCount struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds string        `xml:"time,attr,omitempty"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitProblem `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (all *junitSuites) add(s junitSuite) {
	all.Tests += s.Tests
	all.Failures += s.Failures
	all.Errors += s.Errors
	all.Skipped += s.Skipped
	all.Suites = append(all.Suites, s)
}

func (s *junitSuite) add(name string, outcome job.Outcome, message, advice string) {
	c := junitCase{Class: s.Name, Name: name}
	problem := &junitProblem{Message: message, Text: cmp.Or(advice, message)}
	switch outcome {
	case job.Fail:
		problem.Type = name
		c.Failure = problem
		s.Failures++
	case job.CouldNotRun:
		c.Error = problem
		s.Errors++
	case job.CannotTell:
		problem.Text = ""
		c.Skipped = problem
		s.Skipped++
	case job.Warn:
		c.Out = "warning: " + strings.TrimSpace(message+"\n"+advice)
	case job.Pass:
		c.Out = message
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
