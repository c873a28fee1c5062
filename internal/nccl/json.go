// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// jsonReport is what is read of a -J report of version 1 to 3. Its env, which holds the whole environment with
// every secret in it, is never decoded.
type jsonReport struct {
	job.Report
	averaged  string
	sawBounds bool
	sawEnd    bool
	errors    []string
}

// parseJSON reads a -J report. Versions before 2.18.5 leave it unfinished after an early error: what is there
// is kept, and the report is not complete.
func parseJSON(text []byte, exitStatus *int) Output {
	r := jsonReport{Report: job.Report{Ranks: []job.Rank{}, Rows: []job.Row{}}}
	r.decode(json.NewDecoder(bytes.NewReader(withoutRawInfinity(text))))
	r.Complete = r.sawBounds && r.sawEnd
	reports := []job.Report{r.Report}
	return Output{Reports: reports, Failure: r.failure(reports, exitStatus)}
}

func (r *jsonReport) failure(reports []job.Report, exitStatus *int) *job.Failure {
	if !r.Complete {
		for _, text := range r.errors {
			if text != "" {
				return &job.Failure{Kind: KindNCCLError, Message: "NCCL failed: " + text, Advice: "run again with NCCL_DEBUG=INFO"}
			}
		}
		if f := failureOfStatus(exitStatus, version{}); f != nil {
			return f
		}
		return notComplete(reports, false)
	}
	if f := wrongResults(&r.Report); f != nil {
		return f
	}
	if r.averaged == "false" {
		return minBandwidthMissed(r.AvgBusbwGBPerS)
	}
	return failureAfterReport(exitStatus)
}

// rawInfinity is a bare inf, which nccl-tests write although JSON has no such word.
var rawInfinity = regexp.MustCompile(`:-?(?:inf|nan)([,}])`)

func withoutRawInfinity(text []byte) []byte {
	return rawInfinity.ReplaceAll(text, []byte(":null$1"))
}

// decode goes through the document member by member and stops where it ends.
func (r *jsonReport) decode(d *json.Decoder) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for d.More() {
		key, err := d.Token()
		if err != nil || r.member(key, d) != nil {
			return
		}
	}
}

func (r *jsonReport) member(key json.Token, d *json.Decoder) error {
	switch key {
	case "args":
		var args []string
		err := d.Decode(&args)
		if err == nil && len(args) > 0 {
			r.Collective = collectiveOf(args[0])
		}
		return err
	case "config":
		return r.config(d)
	case "results":
		return r.results(d)
	case "out_of_bounds":
		var v struct {
			Count jsonNumber
			Okay  string
		}
		err := d.Decode(&v)
		if n := count(v.Count.value); err == nil && n != nil && (*n == 0) == (v.Okay == "true") {
			r.OutOfBounds = n
		}
		r.sawBounds = err == nil
		return err
	case "average_bus_bandwidth", "average_bus_bandwidith": // 2.17.3 to 2.17.8 spell it so
		var v struct {
			Bandwidth, Bandwidith jsonNumber
			Okay                  string
		}
		err := d.Decode(&v)
		if r.AvgBusbwGBPerS = v.Bandwidth.value; r.AvgBusbwGBPerS == nil {
			r.AvgBusbwGBPerS = v.Bandwidith.value
		}
		r.averaged = v.Okay
		return err
	case "errors":
		return d.Decode(&r.errors)
	case "end_time":
		r.sawEnd = true
	}
	var skipped skip
	return d.Decode(&skipped)
}

// skip is a value that is not looked at.
type skip struct{}

func (*skip) UnmarshalJSON([]byte) error { return nil }

// config holds the ranks: only the first GPU of each process is listed.
func (r *jsonReport) config(d *json.Decoder) error {
	var config struct {
		Devices []struct {
			Rank, Device int
			Hostname     string
			DeviceInfo   string `json:"device_info"`
		}
	}
	err := d.Decode(&config)
	for _, device := range config.Devices {
		r.Ranks = append(r.Ranks, job.Rank{Rank: device.Rank, Host: device.Hostname, Device: device.Device, Name: device.DeviceInfo})
	}
	return err
}

func (r *jsonReport) results(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		var row jsonRow
		if err := d.Decode(&row); err != nil {
			return err
		}
		r.Rows = append(r.Rows, row.row())
	}
	_, err := d.Token()
	return err
}

type jsonRow struct {
	Size, Count int64
	Type, Redop string
	Root        jsonNumber
	OutOfPlace  *jsonPlacement `json:"out_of_place"`
	InPlace     *jsonPlacement `json:"in_place"`

	OutOfPlaceIterations *jsonIterations `json:"out_of_place_per_iter"` // -I
	InPlaceIterations    *jsonIterations `json:"in_place_per_iter"`
}

type jsonPlacement struct {
	Time    jsonNumber
	CPUTime jsonNumber `json:"cpu_time"`
	AlgBW   jsonNumber `json:"alg_bw"`
	BusBW   jsonNumber `json:"bus_bw"`
	NWrong  jsonNumber
}

func (r jsonRow) row() job.Row {
	return job.Row{SizeBytes: r.Size, Count: r.Count, Type: r.Type, RedOp: strings.TrimSpace(r.Redop), Root: r.Root.integer(),
		OutOfPlace: r.OutOfPlace.placement(r.OutOfPlaceIterations), InPlace: r.InPlace.placement(r.InPlaceIterations)}
}

func (p *jsonPlacement) placement(it *jsonIterations) *job.Placement {
	if p == nil {
		return nil
	}
	time := p.Time.value
	if time == nil {
		time = p.CPUTime.value
	}
	return &job.Placement{TimeUS: time, AlgbwGBPerS: p.AlgBW.value, BusbwGBPerS: p.BusBW.value, WrongResults: count(p.NWrong.value), Iterations: it.iterations()}
}

// jsonIterations are the statistics of -I.
type jsonIterations struct {
	SkippedIterations jsonNumber `json:"skipped_iterations"` // from version 3 on
	MinUS             jsonNumber `json:"min_us"`
	MaxUS             jsonNumber `json:"max_us"`
	AvgUS             jsonNumber `json:"avg_us"`
	P50US             jsonNumber `json:"p50_us"`
	P95US             jsonNumber `json:"p95_us"`
	P99US             jsonNumber `json:"p99_us"`
	StdevUS           jsonNumber `json:"stdev_us"`
	CVPercent         jsonNumber `json:"cv_pct"`
	TimesUS           jsonTimes  `json:"times_us"`

	ProcessMaxTimesUS jsonProcesses `json:"per_process_max_times_us"` // with more than one process
}

func (it *jsonIterations) iterations() *job.Iterations {
	if it == nil {
		return nil
	}
	return &job.Iterations{MinUS: it.MinUS.value, MaxUS: it.MaxUS.value, AvgUS: it.AvgUS.value, P50US: it.P50US.value, P95US: it.P95US.value,
		P99US: it.P99US.value, StdevUS: it.StdevUS.value, CVPercent: it.CVPercent.value, Skipped: count(it.SkippedIterations.value),
		TimesUS: it.TimesUS, ProcessMaxTimesUS: it.ProcessMaxTimesUS}
}

// jsonTimes is a list of times; none where one of them is no number, because then it is not known which is whose.
type jsonTimes []float64

// UnmarshalJSON takes any value.
func (t *jsonTimes) UnmarshalJSON(text []byte) error {
	var values []jsonNumber
	if json.Unmarshal(text, &values) != nil {
		return nil //nolint:nilerr // another version may have something else there
	}
	var times []float64
	for _, v := range values {
		if v.value == nil {
			return nil
		}
		times = append(times, *v.value)
	}
	*t = times
	return nil
}

// jsonProcesses are the times of each process.
type jsonProcesses [][]float64

// UnmarshalJSON takes any value.
func (p *jsonProcesses) UnmarshalJSON(text []byte) error {
	var processes []jsonTimes
	if json.Unmarshal(text, &processes) != nil {
		return nil //nolint:nilerr // another version may have something else there
	}
	var all [][]float64
	for _, times := range processes {
		if times == nil {
			return nil
		}
		all = append(all, times)
	}
	*p = all
	return nil
}

// jsonNumber is a number, possibly as a padded string (root) or a word (nan); nil where it is none.
type jsonNumber struct {
	text  string
	value *float64
}

// UnmarshalJSON takes any value.
func (n *jsonNumber) UnmarshalJSON(text []byte) error {
	n.text = strings.TrimSpace(strings.Trim(string(text), `"`))
	n.value = number(n.text)
	return nil
}

func (n jsonNumber) integer() *int {
	i, err := strconv.Atoi(n.text)
	if err != nil {
		return nil
	}
	return &i
}
