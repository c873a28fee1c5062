// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// stream is the output of one process, as far as the launcher tells processes apart.
type stream struct {
	parser *Parser
	report *textReport // the one being read
}

// textReport is a report while it is read.
type textReport struct {
	job.Report
	part     part // the furthest one seen
	columns  columns
	partial  []string // tokens of a row that is not complete yet
	averaged averageVerdict
}

// part of a report. A part that comes again belongs to another report.
type part int

const (
	partNothing part = iota
	partVersion
	partStart
	partConfig
	partDevices
	partTable
	partFooter
	partEnd
)

// Lines of a report. The first versions print the configuration and the footer without a #.
var (
	versionLine   = regexp.MustCompile(`^#\s*nccl-tests version\s+(\S+)`)
	startLine     = regexp.MustCompile(`^#\s*Collective test starting:\s*(\S+)`)
	configLine    = regexp.MustCompile(`^#?\s*nThread\s+[0-9]+\s+nGpus\s+[0-9]+\s`)
	devicesLine   = regexp.MustCompile(`^#?\s*Using devices\s*$`)
	rankLine      = regexp.MustCompile(`^#?\s*Rank\s+([0-9]+)\s+(?:Group\s+-?[0-9]+\s+)?(?:Pid\s+[0-9]+\s+)?on\s+(\S+)\s+device\s+([0-9]+)\s+\[[^\]]*\]\s*(.*?)\s*$`)
	outOfBounds   = regexp.MustCompile(`^#?\s*Out of bounds values\s*:\s*([0-9]+)\s+(OK|FAILED)\s*$`)
	averageLine   = regexp.MustCompile(`^#?\s*Avg bus bandwidth\s*:\s*(\S+)\s*(OK|FAILED)?\s*$`)
	concludedLine = regexp.MustCompile(`^#\s*Collective test concluded:`)
)

// summaryOfAlltoallv begins the first line that NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1 has printed, after the head of a row and
// between its halves, with no end of line before it.
const summaryOfAlltoallv = "# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY:"

// averageVerdict is what NCCL_TESTS_MIN_BW made of the average.
type averageVerdict string

func (s *stream) line(text string, whole bool) {
	switch {
	case versionLine.MatchString(text):
		s.at(partVersion).NCCLTestsVersion = versionLine.FindStringSubmatch(text)[1]
	case startLine.MatchString(text):
		s.at(partStart).Collective = collectiveOf(startLine.FindStringSubmatch(text)[1])
	case configLine.MatchString(text):
		s.at(partConfig)
	case devicesLine.MatchString(text):
		s.at(partDevices)
	case rankLine.MatchString(text):
		s.current().addRank(rankLine.FindStringSubmatch(text))
	case isColumns(text):
		s.at(partTable).columns = columnsOf(text)
	case outOfBounds.MatchString(text) && whole:
		s.at(partFooter).setOutOfBounds(outOfBounds.FindStringSubmatch(text))
	case averageLine.MatchString(text) && whole:
		s.footerEnd().setAverage(averageLine.FindStringSubmatch(text))
	case concludedLine.MatchString(text):
		// The footer was the end; versions before 2.16.7 do not print this line.
	case s.report != nil && !strings.HasPrefix(text, "#"):
		if part, _, found := strings.Cut(text, summaryOfAlltoallv); found {
			text, whole = part, true
		}
		s.report.addTokens(strings.Fields(text), whole || strings.HasSuffix(text, " "), s.parser.onRow)
	}
}

// at gives the report that the part belongs to: the current one, or a new one if that has come so far already.
func (s *stream) at(p part) *textReport {
	if s.report == nil || s.report.part >= p {
		s.report = &textReport{Report: job.Report{Ranks: []job.Rank{}, Rows: []job.Row{}}}
		s.parser.reports = append(s.parser.reports, s.report)
	}
	s.report.part = p
	return s.report
}

func (s *stream) footerEnd() *textReport { return s.at(partEnd) }

// current gives the report being read, or a new one where the log lacks its beginning.
func (s *stream) current() *textReport {
	if s.report == nil || s.report.part == partEnd {
		return s.at(partDevices)
	}
	return s.report
}

// addRank adds a rank line. The list of a process with very many GPUs is cut at 2048 bytes and ends with
// dots: a name with them is not whole.
func (r *textReport) addRank(match []string) {
	rank, err := strconv.Atoi(match[1])
	if err != nil {
		return
	}
	device, err := strconv.Atoi(match[3])
	if err != nil {
		return
	}
	name := match[4]
	if strings.HasSuffix(name, "...") {
		name = ""
	}
	r.Ranks = append(r.Ranks, job.Rank{Rank: rank, Host: match[2], Device: device, Name: name})
}

// setOutOfBounds keeps the count, unless it contradicts the word beside it.
func (r *textReport) setOutOfBounds(match []string) {
	count, err := strconv.ParseInt(match[1], 10, 64)
	if err == nil && (count == 0) == (match[2] == "OK") {
		r.OutOfBounds = &count
	}
}

func (r *textReport) setAverage(match []string) {
	r.AvgBusbwGBPerS = number(match[1])
	r.averaged = averageVerdict(match[2])
	r.Complete = true
}

// collectiveOf gives all_reduce for all_reduce_perf, with a path or a suffix of the build such as _mpi too.
func collectiveOf(program string) string {
	program = program[strings.LastIndexByte(program, '/')+1:]
	if at := strings.LastIndex(program, "_perf"); at >= 0 {
		return program[:at]
	}
	return program
}
