// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// computeClusters holds single instances together by compute clusters. OCI keeps neither a wanted size nor
// a configuration for one: its size is that of its members, its configuration the newest with its token,
// and [Operation] launches and terminates the members one by one.
//
// Several clusters may share a compute cluster that was there before them. Each is then known by the
// compute cluster's OCID and its own token, and its configuration carries its name and tags.
type computeClusters struct{ *Clients }

const computeClusterPrefix = "ocid1.computecluster."

// computeClusterOf takes the ID of a cluster apart. The token is empty unless the compute cluster is shared.
func computeClusterOf(id string) (ocid, token string) {
	ocid, token, _ = strings.Cut(id, "/")
	return ocid, token
}

func (g computeClusters) create(ctx context.Context, spec Spec, configurationID string) (Cluster, error) {
	if spec.Placement.ComputeClusterID != "" {
		return g.adopt(ctx, spec, configurationID)
	}
	details := core.CreateComputeClusterDetails{
		CompartmentId:      &spec.CompartmentID,
		AvailabilityDomain: &spec.Placement.AvailabilityDomain,
		DisplayName:        &spec.DisplayName,
		FreeformTags:       spec.tagged(),
		DefinedTags:        spec.DefinedTags,
	}
	if p := spec.Placement; p.HPCIslandID != "" || p.Constraint != "" {
		constraint := core.ComputeClusterPlacementConstraintDetails{
			TargetNetworkBlockIds:      p.NetworkBlockIDs,
			LogicalPlacementConstraint: core.ComputeClusterLogicalPlacementConstraintEnum(p.Constraint),
		}
		if p.HPCIslandID != "" {
			constraint.HpcIslandId = &p.HPCIslandID
		}
		details.PlacementConstraintDetails = constraint
	}
	response, err := change(ctx, g.Clients, g.Compute.CreateComputeCluster, core.CreateComputeClusterRequest{
		CreateComputeClusterDetails: details, OpcRetryToken: &spec.Token,
	})
	if err != nil {
		return Cluster{}, err
	}
	return wanted(clusterOfComputeCluster(response.ComputeCluster), spec, configurationID), nil
}

// adopt makes a cluster in a compute cluster that is there already, and changes nothing about that.
func (g computeClusters) adopt(ctx context.Context, spec Spec, configurationID string) (Cluster, error) {
	id := spec.Placement.ComputeClusterID
	response, err := read(ctx, g.Clients, g.Compute.GetComputeCluster, core.GetComputeClusterRequest{ComputeClusterId: &id})
	if err != nil {
		return Cluster{}, err
	}
	c := clusterOfComputeCluster(response.ComputeCluster)
	switch {
	case c.State == terminated:
		return Cluster{}, fmt.Errorf("the compute cluster %s is deleted, and takes no nodes any more", id)
	case c.CompartmentID != spec.CompartmentID:
		return Cluster{}, fmt.Errorf("the compute cluster %s is in compartment %s, and so must be its nodes", id, c.CompartmentID)
	case c.Placement.AvailabilityDomain != spec.Placement.AvailabilityDomain:
		return Cluster{}, fmt.Errorf("the compute cluster %s is in %s, and so must be its nodes", id, c.Placement.AvailabilityDomain)
	}
	c.share(spec.Token)
	return wanted(c, spec, configurationID), nil
}

// wanted gives a cluster without members as it shall be.
func wanted(c Cluster, spec Spec, configurationID string) Cluster {
	c.ConfigurationID = configurationID
	c.DisplayName, c.Size, c.Token = spec.DisplayName, spec.Size, spec.Token
	c.FreeformTags, c.DefinedTags = spec.FreeformTags, spec.DefinedTags
	c.Placement.SubnetID = spec.Placement.SubnetID
	c.State = provisioning
	return c
}

// share makes of a compute cluster the one cluster in it that has the token. How it was placed is none of that
// one's settings.
func (c *Cluster) share(token string) {
	c.Placement = Placement{AvailabilityDomain: c.Placement.AvailabilityDomain, ComputeClusterID: c.ID}
	c.ID += "/" + token
	c.Token = token
}

func (g computeClusters) get(ctx context.Context, id string) (Cluster, error) {
	ocid, token := computeClusterOf(id)
	response, err := read(ctx, g.Clients, g.Compute.GetComputeCluster, core.GetComputeClusterRequest{ComputeClusterId: &ocid})
	if err != nil {
		return Cluster{}, err
	}
	c := clusterOfComputeCluster(response.ComputeCluster)
	if c.State == terminated {
		return c, nil
	}
	shared := token != ""
	if shared {
		c.share(token)
	}
	if c.Token == "" {
		return Cluster{}, g.foreign(ctx, c)
	}
	configuration, err := g.configuration(ctx, c)
	if err != nil {
		return Cluster{}, err
	}
	members, err := g.all(ctx, c)
	if err != nil {
		return Cluster{}, err
	}
	if shared {
		there := func(i core.Instance) bool { return i.LifecycleState != core.InstanceLifecycleStateTerminated }
		if configuration == nil && !slices.ContainsFunc(members, there) {
			return Cluster{}, fmt.Errorf("the compute cluster %s has no nodes with the tag %s=%s: %w", ocid, MarkerTag, token, ErrGone)
		}
		c.describe(configuration)
	}
	if configuration != nil {
		c.ConfigurationID = value(configuration.Id)
	}
	c.count(members)
	return c, nil
}

// describe takes name and tags from the configuration.
func (c *Cluster) describe(configuration *core.InstanceConfigurationSummary) {
	c.DisplayName, c.FreeformTags, c.DefinedTags = "", nil, nil
	if configuration == nil {
		return
	}
	c.DisplayName, c.DefinedTags = value(configuration.DisplayName), configuration.DefinedTags
	c.TimeCreated = value(configuration.TimeCreated).Time
	c.untagged(configuration.FreeformTags)
}

// count derives size and state from the members.
func (c *Cluster) count(members []core.Instance) {
	states := map[core.InstanceLifecycleStateEnum]int{}
	for _, m := range members {
		states[m.LifecycleState]++
	}
	gone, going := states[core.InstanceLifecycleStateTerminated], states[core.InstanceLifecycleStateTerminating]
	running := states[core.InstanceLifecycleStateRunning]
	stopping, stopped := states[core.InstanceLifecycleStateStopping], states[core.InstanceLifecycleStateStopped]
	coming := len(members) - gone - going - running - stopping - stopped
	c.Size = len(members) - gone - going
	c.CurrentSize = c.Size
	switch {
	case coming > 0 && running == 0:
		c.State = string(core.ClusterNetworkLifecycleStateProvisioning)
	case coming+going > 0:
		c.State = string(core.ClusterNetworkLifecycleStateScaling)
	case stopping > 0:
		c.State = string(core.ClusterNetworkLifecycleStateStopping)
	case stopped > 0:
		c.State = string(core.ClusterNetworkLifecycleStateStopped)
	default:
		c.State = string(core.ClusterNetworkLifecycleStateRunning)
	}
}

// foreign says what to do with a compute cluster that was not made here.
func (g computeClusters) foreign(ctx context.Context, c Cluster) error {
	members, err := g.all(ctx, c)
	if err != nil {
		return err
	}
	inside := map[string]bool{}
	for _, m := range members {
		if token := m.FreeformTags[MarkerTag]; token != "" && m.LifecycleState != core.InstanceLifecycleStateTerminated {
			inside[c.ID+"/"+token] = true
		}
	}
	if len(inside) > 0 {
		return fmt.Errorf("the compute cluster %s is shared; the clusters in it are %s", c.ID, strings.Join(slices.Sorted(maps.Keys(inside)), ", "))
	}
	return fmt.Errorf("the compute cluster %s was not made by this provider: it has no tag %s. "+
		"A new cluster can launch its nodes into it: name it as the compute cluster to adopt", c.ID, MarkerTag)
}

// configuration gives the newest with the cluster's token; nil when there is none.
func (g computeClusters) configuration(ctx context.Context, c Cluster) (*core.InstanceConfigurationSummary, error) {
	all, err := g.listConfigurations(ctx, c.CompartmentID)
	if err != nil {
		return nil, err
	}
	var newest *core.InstanceConfigurationSummary
	for _, item := range all {
		if item.FreeformTags[MarkerTag] == c.Token && (newest == nil || byAge(item, *newest) > 0) {
			newest = &item
		}
	}
	return newest, nil
}

func byAge(a, b core.InstanceConfigurationSummary) int {
	return cmp.Or(value(a.TimeCreated).Compare(value(b.TimeCreated).Time), cmp.Compare(value(a.Id), value(b.Id)))
}

func (g computeClusters) find(ctx context.Context, spec Spec) (*Cluster, error) {
	for item, err := range g.computeClusters(ctx, spec.CompartmentID) {
		if err != nil {
			return nil, fmt.Errorf("list compute clusters: %w", err)
		}
		if item.FreeformTags[MarkerTag] == spec.Token && item.LifecycleState != core.ComputeClusterLifecycleStateDeleted {
			c, err := g.get(ctx, value(item.Id))
			c = wanted(c, spec, c.ConfigurationID)
			return &c, err
		}
	}
	return nil, nil
}

// update changes name and tags. The nodes are the operation's.
func (g computeClusters) update(ctx context.Context, c Cluster) error {
	if c.Placement.ComputeClusterID != "" {
		_, err := change(ctx, g.Clients, g.ComputeManagement.UpdateInstanceConfiguration, core.UpdateInstanceConfigurationRequest{
			InstanceConfigurationId: &c.ConfigurationID,
			UpdateInstanceConfigurationDetails: core.UpdateInstanceConfigurationDetails{
				DisplayName: &c.DisplayName, FreeformTags: c.tagged(), DefinedTags: c.DefinedTags,
			},
		})
		return err
	}
	_, err := change(ctx, g.Clients, g.Compute.UpdateComputeCluster, core.UpdateComputeClusterRequest{
		ComputeClusterId: &c.ID,
		UpdateComputeClusterDetails: core.UpdateComputeClusterDetails{
			DisplayName: &c.DisplayName, FreeformTags: c.tagged(), DefinedTags: c.DefinedTags,
		},
	})
	return err
}

// release terminates a node. Another takes its place when the operation finds that one is missing.
func (g computeClusters) release(ctx context.Context, _ Cluster, nodeID string, _ bool, _ string) error {
	_, err := change(ctx, g.Clients, g.Compute.TerminateInstance, core.TerminateInstanceRequest{InstanceId: &nodeID})
	if KindOf(err) == NotFound {
		return nil
	}
	return err
}

// terminate ends the members and, once they are gone, the compute cluster unless it is shared. Until then
// it answers with a conflict.
func (g computeClusters) terminate(ctx context.Context, id string) error {
	c, err := g.get(ctx, id)
	if err != nil {
		return err
	}
	members, err := g.all(ctx, c)
	if err != nil {
		return err
	}
	left := 0
	var live []string
	for _, m := range members {
		switch m.LifecycleState {
		case core.InstanceLifecycleStateTerminated:
			continue
		case core.InstanceLifecycleStateTerminating:
		default:
			live = append(live, value(m.Id))
		}
		left++
	}
	err = each(live, func(node string) error { return g.release(ctx, c, node, false, "") })
	switch {
	case err != nil && KindOf(err) != Conflict:
		return err
	case left > 0:
		return fmt.Errorf("%d nodes are still there: %w", left, errNotEmpty)
	case c.Placement.ComputeClusterID != "":
		return fmt.Errorf("its nodes are terminated: %w", ErrGone)
	}
	_, err = change(ctx, g.Clients, g.Compute.DeleteComputeCluster, core.DeleteComputeClusterRequest{ComputeClusterId: &c.ID})
	return err
}

func (g computeClusters) instances(ctx context.Context, c Cluster, page *string) ([]core.InstanceSummary, *string, error) {
	members, next, err := g.page(ctx, c, page)
	var rows []core.InstanceSummary
	for _, m := range members {
		rows = append(rows, core.InstanceSummary{
			Id: m.Id, DisplayName: m.DisplayName, FaultDomain: m.FaultDomain, Shape: m.Shape, Region: m.Region,
			AvailabilityDomain: m.AvailabilityDomain, CompartmentId: m.CompartmentId, TimeCreated: m.TimeCreated,
			InstanceConfigurationId: m.InstanceConfigurationId, State: common.String(string(m.LifecycleState)),
		})
	}
	return rows, next, err
}

// all members in whatever state; those that are gone stay listed for a while.
func (g computeClusters) all(ctx context.Context, c Cluster) ([]core.Instance, error) {
	all, err := collect(pages(func(page *string) ([]core.Instance, *string, error) { return g.page(ctx, c, page) }))
	if err != nil {
		return nil, fmt.Errorf("list the instances of %s: %w", c.ID, err)
	}
	return all, nil
}

// page of the members: the instances of the compute cluster that have the token.
func (g computeClusters) page(ctx context.Context, c Cluster, page *string) ([]core.Instance, *string, error) {
	ocid, _ := computeClusterOf(c.ID)
	response, err := read(ctx, g.Clients, g.Compute.ListInstances, core.ListInstancesRequest{
		CompartmentId: &c.CompartmentID, ComputeClusterId: &ocid, Limit: common.Int(pageSize), Page: page,
	})
	members := slices.DeleteFunc(response.Items, func(i core.Instance) bool {
		return c.Token != "" && i.FreeformTags[MarkerTag] != c.Token
	})
	return members, response.OpcNextPage, err
}

func clusterOfComputeCluster(n core.ComputeCluster) Cluster {
	c := Cluster{
		ID:          value(n.Id),
		TimeCreated: value(n.TimeCreated).Time,
		Spec: Spec{
			CompartmentID: value(n.CompartmentId),
			DisplayName:   value(n.DisplayName),
			Interconnect:  ComputeCluster,
			Placement:     Placement{AvailabilityDomain: value(n.AvailabilityDomain)},
			DefinedTags:   n.DefinedTags,
		},
	}
	if n.LifecycleState == core.ComputeClusterLifecycleStateDeleted {
		c.State = terminated
	}
	if p, ok := n.PlacementConstraintDetails.(core.ComputeClusterPlacementConstraintDetails); ok {
		c.Placement.Constraint = string(p.LogicalPlacementConstraint)
		c.Placement.HPCIslandID = value(p.HpcIslandId)
		c.Placement.NetworkBlockIDs = p.TargetNetworkBlockIds
	}
	c.untagged(n.FreeformTags)
	return c
}
