// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// served are the operations that the tests have had a good answer to.
var served sync.Map

// TestMain expects that all of the tests together have had a good answer to every operation.
func TestMain(m *testing.M) {
	status := m.Run()
	if all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""; all && status == 0 {
		for _, operation := range ocisim.Operations() {
			if _, found := served.Load(operation); !found {
				fmt.Printf("no test has had a good answer to %s\n", operation)
				status = 1
			}
		}
	}
	os.Exit(status)
}

// serving notes what a region answers well.
func serving(then func(ocisim.RequestRecord)) func(ocisim.RequestRecord) {
	return func(rec ocisim.RequestRecord) {
		if rec.Status/100 == 2 {
			served.Store(rec.Operation, true)
		}
		if then != nil {
			then(rec)
		}
	}
}

// TestNetworkOperations takes one of each kind through all that can be asked of it.
func TestNetworkOperations(t *testing.T) {
	t.Parallel()
	const v1, second = "/20160918", "ocid1.compartment.oc1..second"
	r := newRegion(t, func(c *ocisim.Config) { c.Users[0].Compartments = []string{compartmentID, second} })
	vcn := *r.createVCN(t, nil).Id
	for kind, fields := range map[string]string{
		"subnets":               `"cidrBlock":"172.16.1.0/24"`,
		"internetGateways":      `"isEnabled":true`,
		"natGateways":           `"blockTraffic":false`,
		"serviceGateways":       `"services":[]`,
		"routeTables":           `"routeRules":[]`,
		"securityLists":         `"ingressSecurityRules":[],"egressSecurityRules":[]`,
		"dhcps":                 `"options":[{"type":"DomainNameServer","serverType":"VcnLocalPlusInternet"}]`,
		"networkSecurityGroups": `"displayName":"a"`,
		"publicIps":             `"lifetime":"RESERVED"`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ask := func(method, path, body string) (answer string) {
				t.Helper()
				resp, text := r.raw(t, method, v1+path, body)
				if resp.StatusCode/100 != 2 {
					t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
				}
				return text
			}
			body := `{"compartmentId":"` + compartmentID + `","vcnId":"` + vcn + `",` + fields + `}`
			if kind == "publicIps" {
				body = strings.Replace(body, `"vcnId":"`+vcn+`",`, "", 1)
			}
			var made struct {
				ID string `json:"id"`
			}
			must(t, json.Unmarshal([]byte(ask(http.MethodPost, "/"+kind, body)), &made))
			one := "/" + kind + "/" + made.ID
			ask(http.MethodPut, one, `{"displayName":"b"}`)
			ask(http.MethodPost, one+"/actions/changeCompartment", `{"compartmentId":"`+second+`"}`)
			list := "/" + kind + "?scope=REGION&compartmentId=" + second
			for _, text := range []string{ask(http.MethodGet, one, ""), ask(http.MethodGet, list, "")} {
				if !strings.Contains(text, made.ID) || !strings.Contains(text, `"displayName":"b"`) || !strings.Contains(text, second) {
					t.Errorf("after its change and move, %s is %s", made.ID, text)
				}
			}
			ask(http.MethodDelete, one, "")
			eventually(t, "it is gone", func() bool {
				resp, text := r.raw(t, http.MethodGet, v1+one, "")
				return resp.StatusCode == http.StatusNotFound || strings.Contains(text, `"lifecycleState":"TERMINATED"`)
			})
		})
	}
}

// TestEmptyLists are those that clients read although the region has nothing for them.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	for _, path := range []string{"/volumes?compartmentId=" + compartmentID, "/volumeAttachments?compartmentId=" + compartmentID, "/ipv6?subnetId=" + subnetID} {
		if resp, text := r.raw(t, http.MethodGet, "/20160918"+path, ""); resp.StatusCode != http.StatusOK || text != "[]" {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	resp, text := r.raw(t, http.MethodGet, "/20160918/computeCapacityReservationInstanceShapes?compartmentId="+compartmentID, "")
	if resp.StatusCode != http.StatusOK || !strings.Contains(text, gpuShape) {
		t.Errorf("shapes that can be reserved: %d %s", resp.StatusCode, text)
	}
}
