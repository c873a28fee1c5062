// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// maxLine bounds a line; what is longer is no line of nccl-tests and is cut.
const maxLine = 64 << 10

// Parser reads the text that nccl-tests print while they run: write the output to it, then call Finish.
type Parser struct {
	onRow   func(job.Row)
	line    []byte
	streams map[string]*stream
	reports []*textReport // of all streams, in order of their beginning
	signs   signs
	nccl    ncclLog
	empty   bool // nothing but white space so far
}

// NewParser makes a parser that calls onRow, if it is not nil, for every complete row as it comes.
func NewParser(onRow func(job.Row)) *Parser {
	return &Parser{onRow: onRow, streams: map[string]*stream{}, empty: true}
}

// Write takes the next part of the output. It never fails.
func (p *Parser) Write(text []byte) (int, error) {
	n := len(text)
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			p.keep(text)
			return n, nil
		}
		p.keep(text[:end])
		p.takeLine(true)
		text = text[end+1:]
	}
}

func (p *Parser) keep(text []byte) {
	p.line = append(p.line, text[:min(len(text), maxLine-len(p.line))]...)
}

// Finish ends the output and gives what it said.
func (p *Parser) Finish(exitStatus *int) Output {
	if len(p.line) > 0 {
		p.takeLine(false)
	}
	reports := []job.Report{}
	for _, r := range p.reports {
		r.flushRow(nil)
		reports = append(reports, r.Report)
	}
	return Output{Reports: reports, NCCL: p.nccl.result(), Failure: p.failure(reports, exitStatus)}
}

// takeLine takes the collected line. The last line of a cut log is not whole, and what it says may be a part
// of a longer word or number.
func (p *Parser) takeLine(whole bool) {
	text := strings.TrimRight(string(p.line), "\r")
	p.line = p.line[:0]
	parts := cutTags(text)
	for i, part := range parts {
		p.take(part.tag, part.text, whole || i < len(parts)-1)
	}
}

// take takes what one process printed in a line.
func (p *Parser) take(tag, text string, whole bool) {
	text = p.cutMessage(text)
	if strings.TrimSpace(text) == "" {
		return
	}
	p.empty = false
	p.signs.look(text)
	p.nccl.lookBare(text)
	s := p.streams[tag]
	if s == nil {
		s = &stream{parser: p}
		p.streams[tag] = s
	}
	s.line(text, whole)
}

// Prefixes that launchers put before every line: log collectors' times, mpirun --tag-output (Open MPI 5 names
// the job; --timestamp-output adds the time), srun --label, and collectors' names, which are recognised only
// before a line of a report.
var (
	timeTag      = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+-]+Z? `)
	mpirunTag    = regexp.MustCompile(`(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} [0-9]{4} ?)?(\[[^\[\]\s]*[0-9]\]<std(?:out|err|diag)>) ?: ?`)
	srunTag      = regexp.MustCompile(`^ {0,5}[0-9]{1,6}: `)
	collectorTag = regexp.MustCompile(`^(?:\[[\w./-]+\]|[A-Za-z0-9][\w./-]* {0,16}[|:]) (#| {2,}[0-9])`)
)

// tagged is text with the prefix that tells its process from others.
type tagged struct{ tag, text string }

// cutTags takes the launcher's prefixes off a line. There can be several, because mpirun puts one before
// each piece of output that it gets, and a piece may end within a line, even within a word.
func cutTags(line string) []tagged {
	line = line[len(timeTag.FindString(line)):]
	if !strings.Contains(line, "]<std") { // the expression below is slow
		return cutLineTag(line)
	}
	if tags := mpirunTag.FindAllStringSubmatchIndex(line, -1); tags != nil {
		parts := []tagged{{"", line[:tags[0][0]]}}
		for i, at := range tags {
			end := len(line)
			if i+1 < len(tags) {
				end = tags[i+1][0]
			}
			tag, text := line[at[2]:at[3]], line[at[1]:end]
			if last := &parts[len(parts)-1]; last.tag == tag {
				last.text += text
			} else {
				parts = append(parts, tagged{tag, text})
			}
		}
		return parts
	}
	return cutLineTag(line)
}

// cutLineTag takes off a prefix that stands only at the beginning of lines.
func cutLineTag(line string) []tagged {
	if m := srunTag.FindString(line); m != "" {
		return []tagged{{m, line[len(m):]}}
	}
	if m := collectorTag.FindStringSubmatchIndex(line); m != nil {
		return []tagged{{line[:m[2]], line[m[2]:]}}
	}
	return []tagged{{"", line}}
}

// ncclMessage is the start of a message of NCCL itself: host:pid:tid [device] NCCL LEVEL.
var ncclMessage = regexp.MustCompile(`(?:\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]{8,}\] )?([A-Za-z0-9_.-]*):[0-9]+:[0-9]+ \[-?[0-9]+\] (?:\S+:[0-9]+ )?NCCL [A-Z]+`)

// ownValue is the last value of a row's part to which a message was glued.
var ownValue = regexp.MustCompile(`^(-?[0-9]+|N/A)[A-Za-z]`)

// cutMessage takes a message of NCCL off a line. It may follow a row's part on the same line with nothing in
// between, so that the row's last value and the host name are one word: the ranks' host names tell.
func (p *Parser) cutMessage(line string) string {
	if !strings.Contains(line, " NCCL ") {
		return line
	}
	at := ncclMessage.FindStringSubmatchIndex(line)
	if at == nil {
		return line
	}
	before, host := line[:at[0]], line[at[2]:at[3]]
	level := line[strings.LastIndexByte(line[:at[1]], ' ')+1 : at[1]]
	value := ""
	if strings.TrimSpace(before) != "" {
		host, value = p.splitHost(host)
	}
	p.nccl.look(host, level, strings.TrimSpace(line[at[1]:]))
	if strings.TrimSpace(before) == "" {
		return ""
	}
	return before + value
}

// splitHost frees a host's name from a row's value before it.
func (p *Parser) splitHost(text string) (host, value string) {
	for _, known := range p.hosts() {
		if value, ok := strings.CutSuffix(text, known); ok {
			return known, value
		}
	}
	if m := ownValue.FindStringSubmatch(text); m != nil {
		return text[len(m[1]):], m[1]
	}
	return text, ""
}

// hosts of all ranks so far, the longest names first.
func (p *Parser) hosts() []string {
	var hosts []string
	for _, r := range p.reports {
		hosts = append(hosts, r.Hosts()...)
	}
	slices.SortFunc(hosts, func(a, b string) int { return len(b) - len(a) })
	return hosts
}
