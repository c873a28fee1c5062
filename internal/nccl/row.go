// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// columns is the table's header: the names before the first placement, those of a placement, and how many
// tokens follow. Rows are read by it, because columns differ between versions and options (-S, -I), and
// their positions move with wide values.
type columns struct {
	preamble, half []string
	halves, tail   int
	timeToUS       float64
}

// Other names of columns: those of version 1, and cputime with -C 1.
var columnNames = map[string]string{"bytes": "size", "N": "count", "op": "redop", "cputime": "time"}

// isColumns recognises the header line with the names.
func isColumns(line string) bool {
	names := strings.Fields(strings.TrimPrefix(line, "#"))
	return strings.HasPrefix(line, "#") && len(names) > 4 && (names[0] == "size" || names[0] == "bytes") &&
		slices.Contains(names, "algbw") && slices.Contains(names, "busbw")
}

func columnsOf(line string) columns {
	c := columns{timeToUS: 1}
	for _, name := range strings.Fields(strings.TrimPrefix(line, "#")) {
		if name == "bytes" { // version 1, whose times are in milliseconds
			c.timeToUS = 1000
		}
		if full, ok := columnNames[name]; ok {
			name = full
		}
		switch {
		case name == "time":
			c.halves++
			if c.halves == 1 {
				c.half = []string{name}
			}
		case name == "timestamp":
			c.tail += 2 // date, time of day
		case c.halves == 0:
			c.preamble = append(c.preamble, name)
		case c.halves == 1:
			c.half = append(c.half, name)
		}
	}
	return c
}

// tokens of a whole row whose redop is, or is not, printed.
func (c columns) tokens(preamble int) int { return preamble + c.halves*len(c.half) + c.tail }

// preambleOf gives the names of the columns that a row's first tokens stand for; nil when it starts no row.
// Collectives without a reduction operation leave redop blank (hypercube) or print none.
func (c columns) preambleOf(tokens []string) []string {
	blank := slices.DeleteFunc(slices.Clone(c.preamble), func(name string) bool { return name == "redop" })
	for _, names := range [][]string{c.preamble, blank} {
		if len(names) >= 3 && len(tokens) >= len(names) && fits(names, tokens) {
			return names
		}
	}
	return nil
}

var (
	wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)
	word        = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	measured    = regexp.MustCompile(`(?i)^(?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|N/A|[-+]?nan|[-+]?inf)$`)
)

func fits(names, tokens []string) bool {
	for i, name := range names {
		kind := wholeNumber
		if name == "type" || name == "redop" {
			kind = word
		}
		if !kind.MatchString(tokens[i]) {
			return false
		}
	}
	return true
}

// maxTokens is more than any row has.
const maxTokens = 64

// addTokens takes the tokens of a line that may be a row, its beginning, or the rest of one: what comes
// between a row's preamble and its measured values depends on when the program's output was flushed.
func (r *textReport) addTokens(tokens []string, whole bool, onRow func(job.Row)) {
	if r.part < partTable { // a row after the footer is one too many, which its report shows
		return
	}
	if r.columns.preambleOf(tokens) != nil {
		r.flushRow(onRow)
		r.partial = tokens
	} else if r.partial != nil && len(r.partial) <= maxTokens && allMeasured(tokens, r.columns.tail) {
		r.partial = append(r.partial, tokens...)
	} else {
		return
	}
	if !whole { // the last token may lack its end
		r.partial = r.partial[:len(r.partial)-1]
	}
	names := r.columns.preambleOf(r.partial)
	if names != nil && len(r.partial) == r.columns.tokens(len(names)) {
		r.flushRow(onRow)
	}
}

// allMeasured says whether tokens are measured values, but for a time stamp at the end.
func allMeasured(tokens []string, tail int) bool {
	values := tokens[:max(0, len(tokens)-tail)]
	return len(values) > 0 && !slices.ContainsFunc(values, func(token string) bool { return !measured.MatchString(token) })
}

// flushRow adds the row read so far. One that was never finished has nil where it lacks values.
func (r *textReport) flushRow(onRow func(job.Row)) {
	tokens := r.partial
	r.partial = nil
	names := r.columns.preambleOf(tokens)
	if head := len(r.columns.preamble) - 1; names == nil && len(tokens) == head && head > 0 {
		names = r.columns.preamble[:head] // the log was cut within the last of them
	}
	if names == nil {
		return
	}
	row, ok := rowOf(names, tokens)
	if !ok {
		return
	}
	values := tokens[len(names):]
	width := len(r.columns.half)
	if len(tokens) <= r.columns.tokens(len(names)) { // else it is not known which values belong to what
		for i, half := range []**job.Placement{&row.OutOfPlace, &row.InPlace} {
			if i < r.columns.halves && len(values) >= (i+1)*width {
				*half = r.columns.placementOf(values[i*width : (i+1)*width])
			}
		}
	}
	r.Rows = append(r.Rows, row)
	if onRow != nil && row.OutOfPlace != nil {
		onRow(row)
	}
}

func rowOf(names, tokens []string) (row job.Row, ok bool) {
	ok = true
	integer := func(token string) int64 {
		n, err := strconv.ParseInt(token, 10, 64)
		ok = ok && err == nil
		return n
	}
	for i, name := range names {
		switch name {
		case "size":
			row.SizeBytes = integer(tokens[i])
		case "count":
			row.Count = integer(tokens[i])
		case "type":
			row.Type = tokens[i]
		case "redop":
			row.RedOp = tokens[i]
		case "root":
			root := int(integer(tokens[i]))
			row.Root = &root
		}
	}
	return row, ok && row.SizeBytes >= 0 && row.Count >= 0
}

func (c columns) placementOf(tokens []string) *job.Placement {
	p := &job.Placement{}
	for i, name := range c.half {
		switch name {
		case "time":
			if p.TimeUS = number(tokens[i]); p.TimeUS != nil {
				*p.TimeUS *= c.timeToUS
			}
		case "algbw":
			p.AlgbwGBPerS = number(tokens[i])
		case "busbw":
			p.BusbwGBPerS = number(tokens[i])
		case "i_min", "i_max", "i_p99", "i_cv%": // -I
			p.Iterations = withStatistic(p.Iterations, name, number(tokens[i]))
		case "#wrong": // before 2.13 the column is "error", the greatest deviation, and counts nothing
			p.WrongResults = count(number(tokens[i]))
		}
	}
	return p
}

// withStatistic adds a column of -I.
func withStatistic(it *job.Iterations, name string, value *float64) *job.Iterations {
	if it == nil {
		it = &job.Iterations{}
	}
	switch name {
	case "i_min":
		it.MinUS = value
	case "i_max":
		it.MaxUS = value
	case "i_p99":
		it.P99US = value
	case "i_cv%":
		it.CVPercent = value
	}
	return it
}

// number gives a value as printed; nil for N/A, nan, infinite and negative ones.
func number(token string) *float64 {
	value, err := strconv.ParseFloat(token, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 || strings.ContainsAny(token, "xX_") {
		return nil
	}
	return &value
}

// count gives a number of things, which nccl-tests print in floating form. A part of one is one.
func count(value *float64) *int64 {
	if value == nil || *value > math.MaxInt64/2 {
		return nil
	}
	n := int64(math.Ceil(*value))
	return &n
}
