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
		OutOfPlace: r.OutOfPlace.placement(), InPlace: r.InPlace.placement()}
}

func (p *jsonPlacement) placement() *job.Placement {
	if p == nil {
		return nil
	}
	time := p.Time.value
	if time == nil {
		time = p.CPUTime.value
	}
	return &job.Placement{TimeUS: time, AlgbwGBPerS: p.AlgBW.value, BusbwGBPerS: p.BusBW.value, WrongResults: count(p.NWrong.value)}
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
