// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// Interconnect is what joins the nodes of a cluster.
type Interconnect string

// Interconnects.
const (
	ClusterNetwork Interconnect = "cluster_network" // an RDMA network with one instance pool
	ComputeCluster Interconnect = "compute_cluster" // an RDMA network of single instances
	NoInterconnect Interconnect = "none"            // a plain instance pool
)

// MarkerTag is the freeform tag on everything that is created for a cluster. Its value is the cluster's
// token, by which a lost reply or a leftover is traced back.
const MarkerTag = "ocihpc-cluster"

// DefinedTags by name space and key, as OCI has them.
type DefinedTags map[string]map[string]any

// Placement says where the nodes of a cluster are; it cannot change.
type Placement struct {
	AvailabilityDomain string
	SubnetID           string
	// Constraint such as SINGLE_TIER, for a cluster network; empty leaves it to OCI.
	Constraint string
	// HPCIslandID and NetworkBlockIDs as asked for or, when read, as placed.
	HPCIslandID     string
	NetworkBlockIDs []string
	// ComputeClusterID is an existing compute cluster to launch the nodes into; empty makes one. Only for
	// [ComputeCluster].
	ComputeClusterID string
}

// Launch says how a node is launched. OCI keeps it in an instance configuration, which cannot change
// either: another launch is another configuration, used by the nodes that are launched later.
type Launch struct {
	Shape             string
	ImageID           string
	SSHAuthorizedKeys string // one key a line
	UserData          string // base64
	// Metadata beside the keys and the user data.
	Metadata            map[string]string
	NSGIDs              []string
	BootVolumeSizeInGBs int64 // 0 means the image's
	BootVolumeVPUsPerGB int64 // 0 means OCI's default
	// CapacityReservationID to take the hosts from; empty takes them on demand.
	CapacityReservationID string
	// Plugins of the agent by name, on or off. RDMA shapes get theirs without being asked; an entry wins.
	Plugins  map[string]bool
	Platform Platform
}

// Platform is how the firmware of a node is set; the zero value leaves all to OCI.
type Platform struct {
	// NUMANodesPerSocket such as NPS1; empty leaves it to OCI.
	NUMANodesPerSocket string
	// SimultaneousMultithreading on or off; nil leaves it to OCI.
	SimultaneousMultithreading *bool
}

// Spec is a cluster as a user wants it or, when read, as OCI has it.
type Spec struct {
	CompartmentID string
	DisplayName   string
	Interconnect  Interconnect
	Size          int
	Placement     Placement
	Launch        Launch
	FreeformTags  map[string]string // without the marker
	DefinedTags   DefinedTags
	// Token is the marker's value. It also makes the repetition of a lost create harmless.
	Token string
}

// Cluster is a cluster that exists, with all that belongs to it.
type Cluster struct {
	// ID is the OCID of the cluster network, compute cluster or instance pool. For a cluster in a compute
	// cluster that was there before it, a slash and the cluster's token follow.
	ID              string
	PoolID          string
	ConfigurationID string
	// State is OCI's: PROVISIONING, SCALING, STARTING, RUNNING, STOPPING, STOPPED, TERMINATING, TERMINATED.
	// That of a compute cluster follows from its nodes.
	State       string
	CurrentSize int
	TimeCreated time.Time
	// Spec as read back. Its Launch is empty unless [Clusters.Get] filled it.
	Spec
}

// Complete says that the cluster has all the nodes that it should have.
func (c Cluster) Complete() bool {
	return c.State == running && c.CurrentSize == c.Size
}

// Life cycle states that decide something here.
const (
	provisioning = string(core.ClusterNetworkLifecycleStateProvisioning)
	running      = string(core.ClusterNetworkLifecycleStateRunning)
	stopped      = string(core.ClusterNetworkLifecycleStateStopped)
	terminating  = string(core.ClusterNetworkLifecycleStateTerminating)
	terminated   = string(core.ClusterNetworkLifecycleStateTerminated)
)

// Clusters creates, reads, changes and deletes clusters.
type Clusters struct {
	*Clients
	Waiter Waiter
	// Grace is how long an answer may lag behind a change that OCI has accepted, and how long a cluster
	// may take to settle once a work request has failed for good.
	Grace time.Duration
	// CleanUp bounds what is still done after an interrupt or a failure.
	CleanUp time.Duration
}

// NewClusters gives the clusters that the clients reach.
func NewClusters(clients *Clients) *Clusters {
	return &Clusters{Clients: clients, Waiter: DefaultWaiter, Grace: time.Minute, CleanUp: 30 * time.Second}
}

// group is the OCI resource that holds a cluster's nodes together.
type group interface {
	create(ctx context.Context, spec Spec, configurationID string) (Cluster, error)
	get(ctx context.Context, id string) (Cluster, error)
	// find gives the live group that carries the spec's token; nil when there is none.
	find(ctx context.Context, spec Spec) (*Cluster, error)
	// update makes OCI's record equal to the cluster's size, name, tags and configuration.
	update(ctx context.Context, c Cluster) error
	// release takes a node out and terminates it; with replace, another is launched in its place. A token makes
	// the repetition harmless.
	release(ctx context.Context, c Cluster, nodeID string, replace bool, token string) error
	terminate(ctx context.Context, id string) error
	instances(ctx context.Context, c Cluster, page *string) ([]core.InstanceSummary, *string, error)
}

func (s *Clusters) group(interconnect Interconnect) group {
	switch interconnect {
	case ClusterNetwork:
		return clusterNetworks{s.Clients}
	case ComputeCluster:
		return computeClusters{s.Clients}
	default:
		return instancePools{s.Clients}
	}
}

// InterconnectOf tells from an ID what kind of cluster it names.
func InterconnectOf(id string) (Interconnect, error) {
	switch {
	case strings.HasPrefix(id, "ocid1.clusternetwork."):
		return ClusterNetwork, nil
	case strings.HasPrefix(id, computeClusterPrefix):
		return ComputeCluster, nil
	case strings.HasPrefix(id, "ocid1.instancepool."):
		return NoInterconnect, nil
	}
	return "", fmt.Errorf("%q is the OCID neither of a cluster network (ocid1.clusternetwork.…), nor of a compute cluster (ocid1.computecluster.…), "+
		"nor of an instance pool (ocid1.instancepool.…)", id)
}

// Get reads a cluster and how its nodes are launched. A cluster that is gone, whether OCI still shows
// the record or not, gives [ErrGone].
func (s *Clusters) Get(ctx context.Context, id string) (Cluster, error) {
	interconnect, err := InterconnectOf(id)
	if err != nil {
		return Cluster{}, err
	}
	c, err := s.group(interconnect).get(ctx, id)
	switch {
	case KindOf(err) == NotFound:
		return Cluster{}, fmt.Errorf("%s: %w: %w", id, ErrGone, err)
	case err != nil:
		return Cluster{}, fmt.Errorf("read %s: %w", id, err)
	case c.State == terminated:
		return c, fmt.Errorf("%s is %s: %w", id, terminated, ErrGone)
	case interconnect == ClusterNetwork && c.PoolID == "" && !ending(c.State):
		return Cluster{}, fmt.Errorf("the cluster network %s is %s and does not show its instance pool yet: try again in a minute", id, c.State)
	}
	if interconnect == NoInterconnect {
		if err := s.ofNoNetwork(ctx, c); err != nil {
			return Cluster{}, err
		}
	}
	if err := s.readLaunch(ctx, &c); err != nil {
		return Cluster{}, err
	}
	return c, nil
}

// tagged gives the spec's freeform tags with the marker.
func (s Spec) tagged() map[string]string {
	tags := maps.Clone(s.FreeformTags)
	if tags == nil {
		tags = map[string]string{}
	}
	if s.Token != "" {
		tags[MarkerTag] = s.Token
	}
	return tags
}

// untagged takes the marks of this provider out of tags that were read.
func (s *Spec) untagged(tags map[string]string) {
	s.FreeformTags = maps.Clone(tags)
	s.Token = tags[MarkerTag]
	delete(s.FreeformTags, MarkerTag)
	delete(s.FreeformTags, LaunchTag)
}
