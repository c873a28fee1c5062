// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// Scenario says what is scarce in a region and what goes wrong there. The zero value is a region that
// has everything and never fails. [ParseScenario] reads one from YAML, with these names in snake case.
type Scenario struct {
	// Capacity is the number of hosts of a shape; a shape that is absent has no limit.
	Capacity map[string]int `yaml:"capacity"`
	// Shortage is what a pool does when not all of its instances can be launched.
	Shortage Shortage `yaml:"shortage"`
	// LaunchShortage is how a launch of a single instance says that there is no host for it.
	LaunchShortage LaunchShortage `yaml:"launch_shortage"`
	// ReservationShortage is how a cluster network says that there are not enough hosts for it.
	ReservationShortage ReservationShortage `yaml:"reservation_shortage"`
	// KeepVacancies leaves the place of a pool member vacant that somebody terminated through the
	// instance API. By default the pool launches a replacement.
	KeepVacancies bool `yaml:"keep_vacancies"`
	// EmptyPages puts an empty page with a next one before each page of a list, as OCI may.
	EmptyPages bool `yaml:"empty_pages"`
	// Limits are service limits: the most instances of a shape. Launches above them get LimitExceeded.
	Limits map[string]int `yaml:"limits"`
	// Quotas are compartment quotas: the most instances of a shape in each compartment. Launches above
	// them get QuotaExceeded.
	Quotas map[string]int `yaml:"quotas"`
	// TagDefaults are defined tags, by namespace and key, that everything gets when it is created, unless
	// the request sets them. "${oci.datetime}" in a value stands for the time.
	TagDefaults map[string]map[string]string `yaml:"tag_defaults"`
	// TagNamespaces are the keys of defined tags that can be set, by namespace, beside those of Oracle-Tags
	// and of TagDefaults. Other defined tags are refused.
	TagNamespaces map[string][]string `yaml:"tag_namespaces"`
	StaleReads    StaleReads          `yaml:"stale_reads"`
	// Nodes are faults of instances and their hosts. The first that is due applies.
	Nodes []NodeFault `yaml:"nodes"`
	// Faults are faults of requests. The first that is due applies.
	Faults []Fault `yaml:"faults"`
}

// Shortage is the behaviour of a pool that cannot get all of its instances. Public OCI's is not
// documented for every case, therefore it can be chosen.
type Shortage string

// Shortage behaviours. The work request LaunchInstancesInPool has the errors in all of them.
const (
	// ShortageWaits keeps the pool PROVISIONING or SCALING and its work request IN_PROGRESS, and tries
	// again every five minutes. The default.
	ShortageWaits Shortage = ""
	// ShortageRunsShort makes the pool RUNNING with fewer instances than its size.
	ShortageRunsShort Shortage = "runs-short"
	// ShortageTerminates terminates a pool that is being created; one that grows runs short.
	ShortageTerminates Shortage = "terminates"
)

// LaunchShortage is how LaunchInstance fails without a host. OCI does both.
type LaunchShortage string

// Forms of the failure of a launch.
const (
	// LaunchRefused answers 500 InternalError "Out of host capacity.". The default.
	LaunchRefused LaunchShortage = ""
	// LaunchFails accepts the launch; its work request fails, and the instance is terminated.
	LaunchFails LaunchShortage = "work-request"
)

// ReservationShortage is where a cluster network without capacity says so. Field reports name all.
type ReservationShortage string

// Forms of the failure of a reservation.
const (
	// ReservationFails puts the text into errors and logs of the work request. The default.
	ReservationFails ReservationShortage = ""
	// ReservationErrors puts it into the errors only.
	ReservationErrors ReservationShortage = "errors"
	// ReservationLogs puts it into the logs only.
	ReservationLogs ReservationShortage = "logs"
	// ReservationUnnoticed reserves nothing: the launches in the pool fail instead.
	ReservationUnnoticed ReservationShortage = "unnoticed"
)

// StaleReads makes reads lag behind changes, as those of a distributed control plane do. It counts
// reads, not seconds, so that tests do not depend on time.
type StaleReads struct {
	// AfterCreate is how many reads of a new resource get 404, and how many lists leave it out.
	AfterCreate int `yaml:"after_create"`
	// AfterChange is how many reads of a resource show it as before its last update or deletion.
	AfterChange int `yaml:"after_change"`
}

// check refuses what no region can do. The shapes are those that the region offers.
func (c *Scenario) check(shapes []offeredShape) error {
	for field, counts := range map[string]map[string]int{"capacity": c.Capacity, "limits": c.Limits, "quotas": c.Quotas} {
		for name, n := range counts {
			if err := checkShape(shapes, name); err != nil {
				return fmt.Errorf("%s: %w", field, err)
			}
			if n < 0 {
				return fmt.Errorf("%s: %d hosts of %s; write 0 for none", field, n, name)
			}
		}
	}
	if err := errors.Join(
		oneOf("shortage", c.Shortage, ShortageWaits, ShortageRunsShort, ShortageTerminates),
		oneOf("launch_shortage", c.LaunchShortage, LaunchRefused, LaunchFails),
		oneOf("reservation_shortage", c.ReservationShortage, ReservationFails, ReservationErrors, ReservationLogs, ReservationUnnoticed),
	); err != nil {
		return err
	}
	if c.StaleReads.AfterCreate < 0 || c.StaleReads.AfterChange < 0 {
		return errors.New("stale_reads: a number of reads is negative")
	}
	for i := range c.Nodes {
		if err := c.Nodes[i].check(shapes); err != nil {
			return fmt.Errorf("nodes[%d]: %w", i, err)
		}
	}
	for i := range c.Faults {
		if err := c.Faults[i].check(); err != nil {
			return fmt.Errorf("faults[%d]: %w", i, err)
		}
	}
	return nil
}

func checkShape(shapes []offeredShape, name string) error {
	if slices.ContainsFunc(shapes, func(s offeredShape) bool { return *s.Shape.Shape == name }) {
		return nil
	}
	if nearest, ok := shape.Suggest(name); ok && nearest != name {
		return fmt.Errorf("the region has no shape %q; is %q meant?", name, nearest)
	}
	return fmt.Errorf("the region has no shape %q", name)
}

// oneOf checks a choice; the empty one is the default and needs no name.
func oneOf[T ~string](field string, have T, choices ...T) error {
	if slices.Contains(choices, have) {
		return nil
	}
	var names []string
	for _, c := range choices {
		if c != "" {
			names = append(names, fmt.Sprintf("%q", c))
		}
	}
	return fmt.Errorf("%s: %q is unknown; choose %s, or leave it out", field, have, strings.Join(names, ", "))
}

// Over puts a scenario on top of another one: what it says counts, what it does not say stays. Its
// faults come first.
func (c Scenario) Over(base Scenario) Scenario {
	c.Capacity, c.Limits, c.Quotas = over(base.Capacity, c.Capacity), over(base.Limits, c.Limits), over(base.Quotas, c.Quotas)
	c.TagDefaults, c.TagNamespaces = over(base.TagDefaults, c.TagDefaults), over(base.TagNamespaces, c.TagNamespaces)
	c.Shortage = cmp.Or(c.Shortage, base.Shortage)
	c.LaunchShortage = cmp.Or(c.LaunchShortage, base.LaunchShortage)
	c.ReservationShortage = cmp.Or(c.ReservationShortage, base.ReservationShortage)
	c.KeepVacancies = c.KeepVacancies || base.KeepVacancies
	c.EmptyPages = c.EmptyPages || base.EmptyPages
	c.StaleReads = cmp.Or(c.StaleReads, base.StaleReads)
	c.Nodes, c.Faults = slices.Concat(c.Nodes, base.Nodes), slices.Concat(c.Faults, base.Faults)
	return c
}

func over[V any](base, top map[string]V) map[string]V {
	merged := map[string]V{}
	maps.Copy(merged, base)
	maps.Copy(merged, top)
	return merged
}

// SetScenario replaces the scenario of a running region, with the counts of all faults at zero.
// Instances that run stay.
func (s *Server) SetScenario(c Scenario) error {
	if err := c.check(s.shapes); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setScenario(c)
	return s.commit()
}

func (s *Server) setScenario(c Scenario) {
	c.Capacity = maps.Clone(c.Capacity)
	s.cfg.Scenario = c
	s.nodeTurns, s.faultTurns = make([]turns, len(c.Nodes)), make([]turns, len(c.Faults))
	for i, f := range c.Faults {
		s.faultTurns[i].random = newRandom(f.Seed)
	}
}

// admit says why one more instance of a shape cannot be launched: a quota, a service limit, or no host.
func (s *Server) admit(compartment, name string) error {
	running := s.store.onShape.with(name)
	if most, limited := s.cfg.Quotas[name]; limited && countIn(running, compartment) >= most {
		return quotaExceeded(name, most)
	}
	if most, limited := s.cfg.Limits[name]; limited && len(running) >= most {
		return limitExceeded(name, most)
	}
	return nil
}

func countIn(instances []*instance, compartment string) int {
	n := 0
	for _, i := range instances {
		if i.compartment() == compartment {
			n++
		}
	}
	return n
}

// hasHosts says whether there are hosts for a number of launches.
func (s *Server) hasHosts(p placed, n int) bool {
	free, limited := s.freeFor(p)
	return !limited || free >= n
}

// tagged gives the tags of something new: those of the request, over the tag defaults.
func (s *Server) tagged(freeform map[string]string, defined map[string]map[string]any) (map[string]string, map[string]map[string]any) {
	now := s.timestamp().Format("2006-01-02T15:04:05.000Z")
	freeform, defined = tagged(freeform, maps.Clone(defined))
	for namespace, defaults := range s.cfg.TagDefaults {
		tags := map[string]any{}
		for key, value := range defaults {
			tags[key] = strings.ReplaceAll(value, "${oci.datetime}", now)
		}
		maps.Copy(tags, defined[namespace])
		defined[namespace] = tags
	}
	return freeform, defined
}

// matches compares a name with a pattern such as Get*; an empty pattern takes all.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return pattern == "" || err == nil && ok
}

func checkPattern(field, pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%s: %q is no pattern: %w", field, pattern, err)
	}
	return nil
}

func checkTurns(skip, times int) error {
	if skip < 0 || times < 0 || skip > math.MaxInt32 || times > math.MaxInt32 {
		return errors.New("skip and times must not be negative")
	}
	return nil
}
