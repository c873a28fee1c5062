// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// passing are logs that pass: plain text of two eras, text with a launcher's tags, NCCL's messages between, JSON.
var passing = []string{"v2.16.8.all_reduce", "v2.19.6.all_reduce", "v2.19.6.all_gather", "v2.19.6.info", "mpirun4.tagged", "v2.19.6.report.json"}

// whole are passing logs, and the want that they are.
func whole(t *testing.T, name string) (text string, want Want) {
	t.Helper()
	text = readLog(t, name)
	output := parse(t, text, ptr(0))
	want = wantOf(output.Reports)
	if v := Judge(output.Reports, output.Failure, Criteria{}, want); v.Outcome != job.Pass {
		t.Fatalf("%s: %+v", name, v.Failure)
	}
	return text, want
}

func outcomeOf(t *testing.T, text string, expect job.Expectation, want Want) job.Outcome {
	t.Helper()
	output := parse(t, text, ptr(0))
	return Judge(output.Reports, output.Failure, Criteria{Expect: expect}, want).Outcome
}

// A log that was cut before its average never passes, wherever that was.
func TestCutLogsNeverPass(t *testing.T) {
	t.Parallel()
	for _, name := range passing {
		text, want := whole(t, name)
		end := strings.Index(text, "# Avg bus bandwidth")
		if end < 0 {
			end = strings.Index(text, `"end_time"`)
		}
		for cut := 0; cut < end; cut += 31 { // FuzzDamage cuts anywhere
			if outcomeOf(t, text[:cut], job.Expectation{}, want) == job.Pass {
				t.Errorf("%s passes when cut at byte %d of %d", name, cut, len(text))
			}
		}
	}
}

// A log that lacks its beginning, any rank or any row never passes.
func TestLostLinesNeverPass(t *testing.T) {
	t.Parallel()
	matters := regexp.MustCompile(`#  Rank +[0-9]|float +(?:sum|none)|Out of bounds|Avg bus`)
	for _, name := range passing {
		text, want := whole(t, name)
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			if !matters.MatchString(line) || strings.HasPrefix(line, "{") {
				continue
			}
			lost := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			if outcomeOf(t, lost, job.Expectation{}, want) == job.Pass {
				t.Errorf("%s passes without %q", name, line)
			}
			if strings.Contains(line, "Avg bus") { // the footer alone: nothing says of what
				continue
			}
			if outcomeOf(t, strings.Join(lines[i+1:], ""), job.Expectation{}, want) == job.Pass {
				t.Errorf("%s passes from %q on", name, line)
			}
		}
	}
}

// A row, a rank or a whole report that is there twice never passes.
func TestDuplicatedLogsNeverPass(t *testing.T) {
	t.Parallel()
	matters := regexp.MustCompile(`#  Rank +[0-9]|float +(?:sum|none)|Avg bus`)
	for _, name := range passing {
		text, want := whole(t, name)
		if !strings.HasSuffix(name, ".json") && outcomeOf(t, text+text, job.Expectation{}, want) == job.Pass {
			t.Errorf("%s passes twice", name)
		}
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			if !matters.MatchString(line) || strings.HasPrefix(line, "{") {
				continue
			}
			for _, at := range []int{i, min(i+3, len(lines))} { // beside itself, and somewhere else
				twice := strings.Join(lines[:at], "") + line + strings.Join(lines[at:], "")
				if outcomeOf(t, twice, job.Expectation{}, want) == job.Pass {
					t.Errorf("%s passes with twice %q", name, line)
				}
			}
		}
	}
}

// Two logs in one never pass, however they are mixed.
func TestInterleavedLogsNeverPass(t *testing.T) {
	t.Parallel()
	for i, one := range passing {
		for _, other := range passing[i:] {
			if strings.HasSuffix(other, ".json") {
				continue
			}
			text, want := whole(t, one)
			second, _ := whole(t, other)
			a, b := strings.SplitAfter(text, "\n"), strings.SplitAfter(second, "\n")
			for _, chunk := range []int{1, 2, 3, 5, 8, 13} {
				var mixed strings.Builder
				for at := 0; at < max(len(a), len(b)); at += chunk {
					mixed.WriteString(strings.Join(a[min(at, len(a)):min(at+chunk, len(a))], ""))
					mixed.WriteString(strings.Join(b[min(at, len(b)):min(at+chunk, len(b))], ""))
				}
				if outcomeOf(t, mixed.String(), job.Expectation{}, want) == job.Pass {
					t.Errorf("%s and %s pass, %d lines each in turn", one, other, chunk)
				}
			}
		}
	}
}

// Rows in another order say the same.
func TestReorderedRowsChangeNothing(t *testing.T) {
	t.Parallel()
	text, want := whole(t, "v2.19.6.all_reduce")
	rows := regexp.MustCompile(`(?m)((?:^ +[0-9]+ +[0-9]+ +float .*\n)+)`)
	reversed := rows.ReplaceAllStringFunc(text, func(table string) string {
		var back string
		for line := range strings.Lines(table) {
			back = line + back
		}
		return back
	})
	if reversed == text {
		t.Fatal("nothing was reordered")
	}
	for busbw, outcome := range map[float64]job.Outcome{286: job.Pass, 286.1: job.Fail} {
		if got := outcomeOf(t, reversed, job.Expectation{MinBusbwGBPerS: &busbw}, want); got != outcome {
			t.Errorf("%g: %s", busbw, got)
		}
	}
}

// One row misses its mark by little. No single bit that flips makes the log pass.
func TestFlippedBitsNeverPass(t *testing.T) {
	t.Parallel()
	for name, expect := range map[string]job.Expectation{
		"v2.19.6.all_reduce":  {MinBusbwGBPerS: ptr(213.5), AtLeastBytes: 16 << 20}, // 212.63 at 16 MiB, then 220.57, 286.08, 286.72
		"v2.19.6.report.json": {MinBusbwGBPerS: ptr(270.0), AtLeastBytes: 64 << 20}, // 270.19 and 269.89
	} {
		text, _ := whole(t, name)
		// -J lists the first GPU of a process: with one rank nothing is judged.
		text = regexp.MustCompile(`"devices":\[(\{"rank":)0(.*?\})\]`).ReplaceAllString(text, `"devices":[${1}0$2,${1}1$2]`)
		want := Want{Ranks: 2, Hosts: 1}
		if outcome := outcomeOf(t, text, expect, want); outcome != job.Fail {
			t.Fatalf("%s: %s", name, outcome)
		}
		flipped := []byte(text)
		table := max(strings.Index(text, "(B)"), strings.Index(text, `"results"`))
		for at := table; at < len(flipped); at++ {
			if !strings.ContainsRune(".0123456789", rune(text[at])) && at%8 > 0 { // the rest is sampled
				continue
			}
			bit := at % 5 // the low ones make digits of digits
			flipped[at] ^= 1 << bit
			if outcomeOf(t, string(flipped), expect, want) == job.Pass {
				t.Errorf("%s passes with %q at byte %d, instead of %q: …%q…", name, flipped[at], at, text[at], text[max(0, at-20):min(len(text), at+20)])
			}
			flipped[at] ^= 1 << bit
		}
	}
}
