// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

const (
	metadataAddress = "169.254.169.254:80"
	// metadataLimit is long for a service on the same host, and short where there is none.
	metadataLimit = 500 * time.Millisecond
	metadataBytes = 1 << 20
)

// metadata is what OCI tells an instance about itself.
//
// Source: https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm
type metadata struct {
	Instance struct {
		Shape       string `json:"shape"`
		AgentConfig struct {
			Plugins []plugin `json:"pluginsConfig"`
		} `json:"agentConfig"`
	}
	Host struct {
		RackID         string `json:"rackId"`
		ID             string `json:"id"`
		NetworkBlockID string `json:"networkBlockId"`
		RDMA           struct {
			HPCIsland    string `json:"customerHPCIslandId"`
			NetworkBlock string `json:"customerNetworkBlock"`
			LocalBlock   string `json:"customerLocalBlock"`
			Host         string `json:"customerHostId"`
		} `json:"rdmaTopologyData"`
	}
}

// plugin of Oracle Cloud Agent, as the instance is configured.
type plugin struct {
	Name         string `json:"name"`
	DesiredState string `json:"desiredState"`
}

// readMetadata asks the metadata service, which a node outside OCI does not have.
func readMetadata(ctx context.Context, address string) (metadata, error) {
	var m metadata
	if err := readMetadataPart(ctx, address, "/opc/v2/instance/", &m.Instance); err != nil {
		return m, err
	}
	// Only bare metal has a host to tell of.
	if err := readMetadataPart(ctx, address, "/opc/v2/host/", &m.Host); err != nil && !errors.Is(err, errNoMetadata) {
		return m, err
	}
	return m, nil
}

var errNoMetadata = errors.New("the metadata service has no such thing")

// readMetadataPart speaks just enough HTTP: the package for it would be half of this program.
func readMetadataPart(ctx context.Context, address, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, metadataLimit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("ask the instance metadata service: %w", err)
	}
	defer conn.Close() //nolint:errcheck // everything was read
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // a connection without it is bounded by the other end
	}
	request := "GET " + path + " HTTP/1.0\r\nHost: " + address + "\r\nAuthorization: Bearer Oracle\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return fmt.Errorf("ask the instance metadata service: %w", err)
	}
	answer := bufio.NewReader(io.LimitReader(conn, metadataBytes))
	status, err := answer.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the instance metadata: %w", err)
	}
	for { // the header ends with an empty line
		field, err := answer.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read the instance metadata: %w", err)
		}
		if strings.TrimSpace(field) == "" {
			break
		}
	}
	switch {
	case strings.Contains(status, " 404 "):
		return errNoMetadata
	case !strings.Contains(status, " 200 "):
		return fmt.Errorf("the instance metadata service answers %s", strings.TrimSpace(status))
	}
	if err := json.NewDecoder(answer).Decode(into); err != nil {
		return fmt.Errorf("read the instance metadata: %w", err)
	}
	return nil
}

// topology gives where the node is; nil when the metadata do not tell.
func (m metadata) topology() *job.Topology {
	t := job.Topology{
		HPCIsland: m.Host.RDMA.HPCIsland, NetworkBlock: cmp.Or(m.Host.RDMA.NetworkBlock, m.Host.NetworkBlockID),
		LocalBlock: m.Host.RDMA.LocalBlock, Rack: m.Host.RackID, Host: cmp.Or(m.Host.RDMA.Host, m.Host.ID),
	}
	if t == (job.Topology{}) {
		return nil
	}
	return &t
}

// checkTopology needs metadata that only nodes of a cluster network have.
func checkTopology(f findings) job.Check {
	const name = "topology"
	t := f.Topology
	if t == nil {
		if len(f.rdma.hcas) == 0 {
			return job.Check{}
		}
		reason := "the instance metadata do not tell"
		if f.metadata.err != nil {
			reason = f.metadata.err.Error()
		}
		return check(name, job.CannotTell, "where the node is, is not known: "+reason, "")
	}
	said := []string{}
	for _, place := range []struct{ what, where string }{
		{"HPC island", t.HPCIsland}, {"network block", t.NetworkBlock}, {"local block", t.LocalBlock}, {"rack", t.Rack},
	} {
		if place.where != "" {
			said = append(said, place.what+" "+short(place.where))
		}
	}
	return check(name, job.Pass, strings.Join(said, ", "), "")
}

// short shows the end of an OCID, by which people tell them apart.
func short(id string) string {
	const tail = 8
	if strings.HasPrefix(id, "ocid1.") && len(id) > tail {
		return "…" + id[len(id)-tail:]
	}
	return id
}
