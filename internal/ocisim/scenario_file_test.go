// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

const everyKey = `
capacity: {BM.GPU4.8: 4}
shortage: runs-short
launch_shortage: work-request
reservation_shortage: logs
keep_vacancies: true
empty_pages: true
limits: {BM.GPU4.8: 16}
quotas: {BM.GPU4.8: 8}
tag_defaults:
  Oracle-Tags: {CreatedBy: jo, CreatedOn: "${oci.datetime}"}
tag_namespaces: {ops: [team]}
stale_reads: {after_create: 3, after_change: 2}
nodes:
  - name: inst-*
    shape: BM.GPU4.8
    skip: 1
    times: 1
    effect: no-ssh
faults:
  - operation: LaunchInstance
    matching: ocid1.subnet.
    skip: 1
    every: 2
    probability: 0.5
    seed: 7
    times: 3
    delay: 1m30s
    effect: throttle
  - error: {status: 409, code: LockConflict, message: locked}
`

// TestParseScenario reads every key into a field of its own.
func TestParseScenario(t *testing.T) {
	t.Parallel()
	got, err := ocisim.ParseScenario([]byte(everyKey))
	must(t, err)
	want := ocisim.Scenario{
		Capacity: map[string]int{gpuShape: 4}, Shortage: ocisim.ShortageRunsShort, LaunchShortage: ocisim.LaunchFails,
		ReservationShortage: ocisim.ReservationLogs, KeepVacancies: true, EmptyPages: true,
		Limits: map[string]int{gpuShape: 16}, Quotas: map[string]int{gpuShape: 8},
		TagDefaults:   map[string]map[string]string{"Oracle-Tags": {"CreatedBy": "jo", "CreatedOn": "${oci.datetime}"}},
		TagNamespaces: map[string][]string{"ops": {"team"}},
		StaleReads:    ocisim.StaleReads{AfterCreate: 3, AfterChange: 2},
		Nodes:         []ocisim.NodeFault{{Name: "inst-*", Shape: gpuShape, Skip: 1, Times: 1, Effect: ocisim.NodeNoSSH}},
		Faults: []ocisim.Fault{
			{Operation: "LaunchInstance", Matching: "ocid1.subnet.", Skip: 1, Every: 2, Probability: 0.5, Seed: 7, Times: 3,
				Delay: 90 * time.Second, Effect: ocisim.EffectThrottle},
			{Error: &ocisim.FaultError{Status: 409, Code: "LockConflict", Message: "locked"}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for i := range reflect.TypeFor[ocisim.Scenario]().NumField() {
		if reflect.ValueOf(got).Field(i).IsZero() {
			t.Errorf("the test does not set %s", reflect.TypeFor[ocisim.Scenario]().Field(i).Name)
		}
	}
	if over := (ocisim.Scenario{}).Over(got); !reflect.DeepEqual(over, want) {
		t.Errorf("nothing over it is %+v", over)
	}
	if over := got.Over(ocisim.Scenario{Capacity: map[string]int{gpuShape: 1, vmShape: 2}}); over.Capacity[gpuShape] != 4 || over.Capacity[vmShape] != 2 {
		t.Errorf("over another capacity it is %v", over.Capacity)
	}
}

func TestParseScenarioErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"capcity: {}":                         `line 1: a scenario has no key "capcity"; is "capacity" meant?`,
		"\nfaults:\n  - operaton: x":          `line 3: faults[0] has no key "operaton"; is "operation" meant?`,
		"frobnicate: 1":                       `line 1: a scenario has no key "frobnicate"; it has capacity, shortage`,
		"faults:\n  - effect: hng":            `line 2: faults[0]: effect: "hng" is unknown`,
		"shortage: forever":                   `line 1: shortage: "forever" is unknown`,
		"capacity:\n  BM.GPU4.8: many":        `line 2: cannot unmarshal`,
		"capacity:\n  BM.GPU9: 1":             `line 2: capacity: the region has no shape "BM.GPU9"`,
		"faults: {operation: x}":              `line 1: faults must be a list`,
		"faults: [x]":                         `line 1: faults[0] must have keys and values`,
		"shortage: [x]":                       `line 1: shortage must be a single value`,
		"faults:\n  - {delay: 5}":             `line 2: faults[0].delay needs a unit, such as 5s`,
		"limits: &a {}\nquotas: *a":           `line 1: anchors and aliases`,
		"a: b: c":                             `mapping values are not allowed`,
		"capacity: {}\n---\ncapacity: {}":     `more than one YAML document`,
		"capacity: {}\ncapacity: {}":          `line 2`,
		"nodes: [{effect: no-ssh, skip: -1}]": `nodes[0]: skip and times must not be negative`,
		"[]":                                  `line 1: a scenario must have keys and values`,
	} {
		if _, err := ocisim.ParseScenario([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "capacity:\n"} {
		if c, err := ocisim.ParseScenario([]byte(text)); err != nil || c.Capacity != nil {
			t.Errorf("%q: got %v, %v", text, c, err)
		}
	}
}

// FuzzParseScenario must neither panic nor accept what a region then refuses.
func FuzzParseScenario(f *testing.F) {
	f.Add([]byte(everyKey))
	f.Add([]byte("faults:\n  - {operation: Get*, delay: 5}"))
	f.Add([]byte("a: &x [*x, *x]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ocisim.ParseScenario(text)
		if err != nil && !strings.HasPrefix(err.Error(), "read the scenario: ") {
			t.Errorf("error %v", err)
		}
		_ = c.Over(c)
	})
}
