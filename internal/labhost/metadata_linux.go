// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// serveLinkLocal answers metadata and DNS requests of the hosts until ctx ends.
func (h *Hosts) serveLinkLocal(ctx context.Context) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", netip.AddrPortFrom(linkLocal, 80).String())
	if err != nil {
		return fmt.Errorf("listen for metadata requests: %w", err)
	}
	names, err := listen.ListenPacket(ctx, "udp", netip.AddrPortFrom(linkLocal, 53).String())
	if err != nil {
		return fmt.Errorf("listen for name requests: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(h.serveMetadata), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // It ends by being closed.
	go h.serveNames(names)
	context.AfterFunc(ctx, func() {
		_ = server.Close()
		_ = names.Close()
	})
	return nil
}

// serveMetadata is version 2 of OCI's instance metadata service. As there, a host is known by its
// address, the header is asked for, and forwarded requests are refused. Version 1 is switched off.
//
// Source: https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm
func (h *Hosts) serveMetadata(w http.ResponseWriter, r *http.Request) {
	path, isV2 := strings.CutPrefix(r.URL.Path, "/opc/v2/")
	if !isV2 || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	forwarded := r.Header.Get("Forwarded") + r.Header.Get("X-Forwarded-For") + r.Header.Get("X-Forwarded-Host")
	if r.Header.Get("Authorization") != "Bearer Oracle" || forwarded != "" {
		http.Error(w, "Forbidden", http.StatusForbidden)
		return
	}
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	host := h.byAddress(client.Addr().Unmap())
	if host == nil || host.instance == nil {
		http.NotFound(w, r)
		return
	}
	value, ok := lookup(metadataOf(*host.instance), strings.Split(strings.Trim(path, "/"), "/"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	if text, isText := value.(string); isText {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(w, text) // A client that is gone needs no answer.
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value)
}

// lookup follows a path into a document.
func lookup(document any, path []string) (any, bool) {
	for _, key := range path {
		switch node := document.(type) {
		case map[string]any:
			value, ok := node[key]
			if !ok {
				return nil, false
			}
			document = value
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index < 0 || index >= len(node) {
				return nil, false
			}
			document = node[index]
		default:
			return nil, false
		}
	}
	return document, true
}

func metadataOf(i ocisim.Host) map[string]any {
	metadata := map[string]any{}
	for key, value := range i.Metadata {
		metadata[key] = value
	}
	return map[string]any{
		"instance": map[string]any{
			"id": i.InstanceID, "displayName": i.DisplayName, "hostname": i.Hostname, "shape": i.Shape, "image": i.ImageID,
			"region": i.Region, "canonicalRegionName": i.Region, "availabilityDomain": i.AvailabilityDomain,
			"ociAdName": adName(i.AvailabilityDomain), "faultDomain": i.FaultDomain,
			"compartmentId": i.CompartmentID, "tenantId": i.TenancyID, "state": "Running", "metadata": metadata,
		},
		"vnics": []any{map[string]any{
			"vnicId": i.VnicID, "privateIp": i.PrivateIP.String(), "macAddr": i.MAC, "vlanTag": 0,
			"virtualRouterIp": i.Gateway.String(), "subnetCidrBlock": i.Subnet.Masked().String(),
		}},
	}
}

// adName is an availability domain's name without the tenancy's prefix, in lower case: phx-ad-1 for
// Uocm:PHX-AD-1.
func adName(availabilityDomain string) string {
	_, name, found := strings.Cut(availabilityDomain, ":")
	if !found {
		name = availabilityDomain
	}
	return strings.ToLower(name)
}
