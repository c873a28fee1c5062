// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// wantOf asks for exactly what the reports show, so that nothing else stands in the way of a pass.
func wantOf(reports []job.Report) Want {
	if len(reports) == 0 {
		return Want{}
	}
	return Want{Ranks: len(reports[0].Ranks), Hosts: len(reports[0].Hosts())}
}

func passes(output Output, expect job.Expectation) bool {
	v := Judge(output.Reports, output.Failure, Criteria{Expect: expect}, wantOf(output.Reports))
	if (v.Outcome == job.Pass) != (v.Failure == nil) {
		panic("an outcome without its reason, or a reason for a pass")
	}
	return v.Outcome == job.Pass
}

// wholeFooter is the line without which no report is complete.
var (
	wholeFooter = regexp.MustCompile(`Avg bus bandwidth\s*:\s*\S+\s*(?:OK|FAILED)?\s*\n`)
	jsonFooter  = regexp.MustCompile(`"end_time"`)
)

// Whatever the text is: no panic, JSON as promised, and no pass without a footer at whatever byte it is cut.
func FuzzParse(f *testing.F) {
	names, statuses := logs(f)
	for _, name := range names {
		status := int16(0)
		if statuses[name] != nil {
			status = int16(*statuses[name])
		}
		text := readLog(f, name)
		f.Add([]byte(text), uint32(len(text)), status)
		f.Add([]byte(text), uint32(len(text)/2), status)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint32, status int16) {
		text = text[:min(int(cut), len(text))]
		exit := int(status)
		output, err := Parse(bytes.NewReader(text), &exit)
		if err != nil {
			t.Fatal(err)
		}
		encoding, err := json.Marshal(output)
		if err != nil {
			t.Fatalf("no JSON: %v", err)
		}
		if s := string(encoding); strings.Contains(s, `"reports":null`) || strings.Contains(s, `"ranks":null`) || strings.Contains(s, `"rows":null`) {
			t.Fatalf("null in place of a list: %s", s)
		}
		if output.Failure != nil && (output.Failure.Kind == "" || output.Failure.Message == "") {
			t.Fatalf("failure without words: %+v", output.Failure)
		}
		if passes(output, job.Expectation{}) {
			if exit != 0 || !wholeFooter.Match(text) && !jsonFooter.Match(text) {
				t.Fatalf("passes with status %d and no footer: %q", exit, text)
			}
		}
	})
}

// A byte of a log is changed, or a part of it is lost. What fails in the whole log never passes then: a change
// may take away a pass, never give one. The expectation is one that the log misses, or, where its values are
// wrong, none.
func FuzzDamage(f *testing.F) {
	type failing struct {
		text   string
		status int
		expect job.Expectation
	}
	var all []failing
	names, statuses := logs(f)
	for _, name := range names {
		text, status := readLog(f, name), 0
		if statuses[name] != nil {
			status = *statuses[name]
		}
		output := parse(f, text, &status)
		expect := job.Expectation{}
		if passes(output, expect) {
			peak, _, _ := output.Reports[0].PeakBusbw()
			// Ten times what was measured: out of reach for a digit that rounding may hide in the average.
			expect.MinBusbwGBPerS = ptr(10*peak + 1)
			if passes(output, expect) {
				f.Fatalf("%s passes with ten times its bandwidth", name)
			}
		}
		all = append(all, failing{text, status, expect})
	}
	for i := range all {
		f.Add(uint16(i), uint32(len(all[i].text)-300), byte('9'), uint16(0))
		f.Add(uint16(i), uint32(len(all[i].text)/2), byte(' '), uint16(40))
	}
	f.Fuzz(func(t *testing.T, log uint16, at uint32, with byte, lost uint16) {
		l := all[int(log)%len(all)]
		text := []byte(l.text)
		position := int(at) % len(text)
		text[position] = with
		text = append(text[:position:position], text[min(position+int(lost), len(text)):]...)
		// A log whose failure is its exit status or text keeps the status.
		if output := parse(t, string(text), &l.status); passes(output, l.expect) {
			t.Fatalf("passes after byte %d became %q and %d bytes were lost:\n%s", position, with, lost, text)
		}
	})
}

// Every single cut of every passing log, which fuzzing might miss.
func TestNoPrefixPasses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"v2.16.8.one", "v2.19.6.report.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := readLog(t, name)
			if !passes(parse(t, text, nil), job.Expectation{}) {
				t.Fatal("the whole log does not pass")
			}
			for cut := range len(text) {
				if output := parse(t, text[:cut], nil); passes(output, job.Expectation{}) {
					prefix := text[:cut]
					if !wholeFooter.MatchString(prefix) && !jsonFooter.MatchString(prefix) {
						t.Fatalf("passes when cut at byte %d of %d", cut, len(text))
					}
				}
			}
		})
	}
}
