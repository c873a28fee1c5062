// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// A node is reported to Oracle before it is given back, if the user says so.
func TestAccGPUCluster_reportUnhealthy(t *testing.T) {
	const space, key = "ComputeInstanceHostActions", "CustomerReportedHostStatus"
	for name, test := range map[string]struct{ interconnect, list, size string }{
		"replaced": {"cluster network", "replace_nodes", "size = 2"},
		"removed":  {"compute cluster", "remove_nodes", "size = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			interconnect := interconnects[test.interconnect]
			s := newScene(t, ocisim.Scenario{TagNamespaces: map[string][]string{space: {key}}}, interconnect, "size = 3")
			t.Parallel()
			s.Apply()
			quiet, bad := s.nodes()[0], s.nodes()[1]
			s.want(interconnect, "size = 2", fmt.Sprintf("remove_nodes = [%q]", quiet))
			s.Apply()
			s.want(interconnect, test.size, fmt.Sprintf("%s = [%q]", test.list, bad), "report_unhealthy = true")
			s.Apply()
			for node, want := range map[string]any{quiet: nil, bad: "unhealthy"} {
				if status := s.instance(node).DefinedTags[space][key]; status != want {
					t.Errorf("%s was reported as %v, not %v", node, status, want)
				}
				if slices.Contains(s.nodes(), node) {
					t.Errorf("%s is still there", node)
				}
			}
			s.ExpectNoChanges()
			s.end()
		})
	}
}
