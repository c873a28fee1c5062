// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"golang.org/x/sync/errgroup"
)

// errNotEmpty says that a compute cluster cannot be deleted yet.
var errNotEmpty = errors.New("the compute cluster is not empty")

// parallelRequests is how many requests for single nodes are under way at a time.
const parallelRequests = 10

// singles is what an operation itself has done to the nodes of a compute cluster, for which OCI keeps no
// size. Lists may lag behind it.
type singles struct {
	launched map[string]string // display names by OCID
	ended    map[string]bool   // OCIDs of those that were too many
	// refused are the launches that OCI did not accept, lost the OCIDs of those that came to nothing. Neither
	// is tried again by the same operation.
	refused []error
	lost    []string
}

// advance launches what a compute cluster lacks, and terminates what it has too much. A node that is on
// its way out holds its host until it is gone, so its replacement waits for that.
func (o *Operation) advance(ctx context.Context, now Cluster) error {
	if now.Interconnect != ComputeCluster || now.State == terminated || now.Size == o.step.size {
		return nil
	}
	g := computeClusters{o.clusters.Clients}
	members, err := g.all(ctx, now)
	if err != nil {
		return err
	}
	own := &o.singles
	own.lost = nil
	var staying []core.Instance
	going := 0
	unlisted := len(own.launched)
	for _, m := range members {
		id := value(m.Id)
		_, launched := own.launched[id]
		if launched {
			unlisted--
		}
		left := own.ended[id] || slices.Contains(o.step.leaving, id)
		switch {
		case launched && !left && ending(string(m.LifecycleState)):
			own.lost = append(own.lost, id)
		case m.LifecycleState == core.InstanceLifecycleStateTerminated:
		case left || m.LifecycleState == core.InstanceLifecycleStateTerminating:
			going++
		default:
			staying = append(staying, m)
		}
	}
	if surplus := len(staying) - o.step.size; surplus > 0 {
		return o.shrink(ctx, staying, surplus)
	}
	missing := o.step.size - len(staying) - unlisted - len(own.refused) - len(own.lost) - going
	return o.launch(ctx, members, missing)
}

// shrink terminates so many nodes: first those that were launched otherwise than now, then the newest.
func (o *Operation) shrink(ctx context.Context, nodes []core.Instance, surplus int) error {
	digest := o.cluster.LaunchDigest()
	stale := func(i core.Instance) int {
		if i.FreeformTags[LaunchTag] == digest {
			return 1
		}
		return 0
	}
	slices.SortFunc(nodes, func(a, b core.Instance) int {
		return cmp.Or(stale(a)-stale(b), value(b.TimeCreated).Compare(value(a.TimeCreated).Time), cmp.Compare(value(a.DisplayName), value(b.DisplayName)))
	})
	g := computeClusters{o.clusters.Clients}
	var lock sync.Mutex
	return each(nodes[:surplus], func(i core.Instance) error {
		if err := g.release(ctx, o.cluster, value(i.Id), false, ""); err != nil {
			return fmt.Errorf("terminate the node %s: %w", value(i.DisplayName), err)
		}
		lock.Lock()
		defer lock.Unlock()
		if o.singles.ended == nil {
			o.singles.ended = map[string]bool{}
		}
		o.singles.ended[value(i.Id)] = true
		return nil
	})
}

// launch starts so many nodes, under the lowest numbers that are free. Those that OCI refuses do not keep
// the others from being launched.
func (o *Operation) launch(ctx context.Context, members []core.Instance, missing int) error {
	own := &o.singles
	taken := map[string]bool{}
	for _, m := range members {
		taken[value(m.DisplayName)] = m.LifecycleState != core.InstanceLifecycleStateTerminated || taken[value(m.DisplayName)]
	}
	for _, name := range own.launched {
		taken[name] = true
	}
	var names []string
	for n := 1; len(names) < missing; n++ {
		if name := fmt.Sprintf("%s-%d", o.cluster.DisplayName, n); !taken[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	g := computeClusters{o.clusters.Clients}
	labelled, err := g.hasHostNames(ctx, o.cluster.Placement.SubnetID)
	if err != nil {
		return err
	}
	var lock sync.Mutex
	return each(names, func(name string) error {
		label := ""
		if labelled {
			label = hostnameLabel(name)
		}
		id, err := g.launch(ctx, o.cluster, name, label)
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		lock.Lock()
		defer lock.Unlock()
		if err != nil {
			own.refused = append(own.refused, fmt.Errorf("launch the node %s: %w", name, err))
			return nil
		}
		if own.launched == nil {
			own.launched = map[string]string{}
		}
		own.launched[id] = name
		return nil
	})
}

// hasHostNames says whether a subnet has DNS: without, OCI refuses nodes with a host name. A subnet that this user
// may not read is taken for one that has.
func (g computeClusters) hasHostNames(ctx context.Context, subnetID string) (bool, error) {
	response, err := read(ctx, g.Clients, g.VirtualNetwork.GetSubnet, core.GetSubnetRequest{SubnetId: &subnetID})
	if kind := KindOf(err); kind == NotFound || kind == Forbidden {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the subnet %s: %w", subnetID, err)
	}
	return response.DnsLabel != nil, nil
}

// launch starts one node from the cluster's configuration, and gives its OCID.
func (g computeClusters) launch(ctx context.Context, c Cluster, name, label string) (string, error) {
	ocid, _ := computeClusterOf(c.ID)
	response, err := change(ctx, g.Clients, g.ComputeManagement.LaunchInstanceConfiguration, core.LaunchInstanceConfigurationRequest{
		InstanceConfigurationId: &c.ConfigurationID,
		OpcComputeClusterId:     &ocid,
		OpcRetryToken:           common.String(uuid.NewString()),
		InstanceConfiguration: core.ComputeInstanceDetails{LaunchDetails: &core.InstanceConfigurationLaunchInstanceDetails{
			DisplayName: &name,
			CreateVnicDetails: &core.InstanceConfigurationCreateVnicDetails{
				SubnetId: &c.Placement.SubnetID, NsgIds: c.Launch.NSGIDs, HostnameLabel: orNil(label),
			},
		}},
	})
	return value(response.Id), err
}

// maxLabel is the length of a DNS label, RFC 1035.
const maxLabel = 63

// hostnameLabel makes a host name of a display name, as OCI does for the members of pools. The end of a
// long name is what tells the nodes apart.
func hostnameLabel(name string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, name)
	return strings.TrimLeft(label[max(0, len(label)-maxLabel):], "-")
}

// each calls do for every item, several at a time. An error stops none of the others.
func each[T any](items []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for _, item := range items {
		group.Go(func() error { return do(item) })
	}
	return group.Wait()
}

// fellShort says that a compute cluster has all the nodes that it will get, and that these are too few.
func (o *Operation) fellShort(now Cluster) bool {
	failed := len(o.singles.refused) + len(o.singles.lost)
	return now.Interconnect == ComputeCluster && now.State == running && failed > 0 && now.CurrentSize+failed >= o.step.size
}

// Refusal is a reason why nodes could not be launched.
type Refusal struct {
	// Nodes is how many it concerns.
	Nodes int
	Kind  Kind
	// Text is OCI's own account for the first of them.
	Text string
}

// String says how many nodes could not be launched, and why.
func (r Refusal) String() string {
	if r.Nodes == 1 {
		return "1 node could not be launched: " + r.Text
	}
	return fmt.Sprintf("%d nodes could not be launched: %s", r.Nodes, r.Text)
}

// refusals gives each reason for which nodes are missing once. Where OCI gave up later, the node's work
// request has it.
func (o *Operation) refusals(ctx context.Context) ([]Refusal, error) {
	var all []Refusal
	add := func(r Refusal, same func(Refusal) bool) {
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Nodes++
			return
		}
		all = append(all, r)
	}
	for _, err := range o.singles.refused {
		problem := Explain(err)
		answer := strings.TrimSpace(fmt.Sprintf("OCI answered %d %s: %s", problem.Status, problem.Code, problem.Message))
		if problem.Status == 0 {
			answer = problem.What
		}
		text := answer
		if problem.RequestID != "" {
			text += fmt.Sprintf("\n  Operation: %s\n  Request ID: %s", problem.Operation, problem.RequestID)
		}
		add(Refusal{1, problem.Kind, text}, func(r Refusal) bool { return r.Kind == problem.Kind && strings.HasPrefix(r.Text, answer) })
	}
	for _, id := range o.singles.lost {
		failed, err := o.clusters.failedWorkRequest(ctx, o.cluster.CompartmentID, id)
		if err != nil {
			return all, err
		}
		r := Refusal{1, Other, "OCI has terminated it, and no work request says why."}
		if failed != nil {
			r = Refusal{1, failed.kind(), failed.String()}
		}
		add(r, func(other Refusal) bool { return r.Kind != Other && other.Kind == r.Kind || other.Text == r.Text })
	}
	return all, nil
}
