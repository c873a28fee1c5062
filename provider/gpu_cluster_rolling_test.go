// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// onlookers hold a node's boot back until Terraform has sent some more requests, and then note how
// many other nodes run.
type onlookers struct {
	acctest.Gate
	region *acctest.Region // nil while nothing is noted

	lock    sync.Mutex
	running []int
}

func (o *onlookers) watch(region *acctest.Region) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.region = region
}

// least is how few nodes ever ran.
func (o *onlookers) least() int {
	o.lock.Lock()
	defer o.lock.Unlock()
	return slices.Min(append(o.running, 1000))
}

func (o *onlookers) Boot(ctx context.Context, _ ocisim.Host) error {
	o.lock.Lock()
	region := o.region
	o.lock.Unlock()
	if region == nil {
		return nil
	}
	for enough := region.Stats().Requests + 20; region.Stats().Requests < enough; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // Requests cannot be waited for otherwise.
		}
	}
	others := slices.DeleteFunc(region.Instances(), func(i ocisim.InstanceState) bool { return i.State != "RUNNING" })
	o.lock.Lock()
	defer o.lock.Unlock()
	o.running = append(o.running, len(others))
	return nil
}

// Of a cluster that rolls, never more nodes are away than the user allows, and those that he allows are.
func TestAccGPUCluster_maxUnavailable(t *testing.T) {
	for name, test := range map[string]struct {
		interconnect string
		lines        []string
		most         int
	}{
		"one of a cluster network": {"cluster network", nil, 1},
		"two of a compute cluster": {"compute cluster", []string{"max_unavailable = 2"}, 2},
		"one of a compute cluster": {"compute cluster", []string{"max_unavailable = 1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := &onlookers{}
			lines := append(test.lines, interconnects[test.interconnect], "size = 4", `update_strategy = "rolling"`)
			s := newSceneIn(t, acctest.StartRegion(t, func(c *ocisim.Config) { c.Hosts = hosts }), lines...)
			t.Parallel()
			s.Apply()
			before := s.nodes()
			hosts.watch(s.region)
			s.want(append(lines, fmt.Sprintf("image_id = %q", acctest.OtherImageID))...)
			s.Apply()
			if least := hosts.least(); least != 4-test.most {
				t.Errorf("%d of 4 nodes ran at a time, with %d away at most", least, test.most)
			}
			if now := s.nodes(); len(now) != 4 || slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) }) {
				t.Errorf("%q became %q", before, now)
			}
		})
	}
}

// The nodes that a compute cluster gives away are those from before a change.
func TestAccGPUCluster_shrinkTakesStaleNodesFirst(t *testing.T) {
	single := interconnects["compute cluster"]
	s := newScene(t, ocisim.Scenario{}, single, "size = 1")
	t.Parallel()
	s.Apply()
	former := s.nodes()[0]
	otherImage := fmt.Sprintf("image_id = %q", acctest.OtherImageID)
	s.want(single, "size = 2", otherImage)
	s.Apply()
	s.want(single, "size = 1", otherImage)
	s.Apply()
	s.ExpectNoChanges()
	if now := s.nodes(); len(now) != 1 || now[0] == former || len(s.stale()) != 0 {
		t.Errorf("%s became %q; stale are %q", former, now, s.stale())
	}
}
