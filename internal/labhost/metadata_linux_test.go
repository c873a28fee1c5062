// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestServeMetadata(t *testing.T) {
	t.Parallel()
	instance := &ocisim.Host{
		InstanceID: "ocid1.instance.a", AvailabilityDomain: "Lab1:US-LAB-1-AD-1", PrivateIP: netip.MustParseAddr("10.0.1.2"),
		Subnet: netip.MustParsePrefix("10.0.1.0/24"), Metadata: map[string]string{"user_data": "I2Nsb3VkLWNvbmZpZwo="},
	}
	hosts := testHosts()
	hosts.hosts["a"].instance = instance
	for _, test := range []struct {
		path, client string
		header       [2]string
		status       int
		body         string // part of it
	}{
		{"/opc/v2/instance/", "10.0.1.2", [2]string{}, 200, `"ociAdName": "us-lab-1-ad-1"`},
		{"/opc/v2/instance", "10.0.1.2", [2]string{}, 200, `"id": "ocid1.instance.a"`},
		{"/opc/v2/instance/metadata/user_data", "10.0.1.2", [2]string{}, 200, "I2Nsb3VkLWNvbmZpZwo="},
		{"/opc/v2/vnics/0/subnetCidrBlock", "10.0.1.2", [2]string{}, 200, "10.0.1.0/24"},
		{"/opc/v2/vnics/1", "10.0.1.2", [2]string{}, 404, ""},
		{"/opc/v2/vnics/-1", "10.0.1.2", [2]string{}, 404, ""},
		{"/opc/v2/instance/id/more", "10.0.1.2", [2]string{}, 404, ""},
		{"/opc/v1/instance/", "10.0.1.2", [2]string{}, 404, ""},
		{"/opc/v2/instance/", "10.0.1.3", [2]string{}, 404, ""},
		{"/opc/v2/instance/", "10.0.1.2", [2]string{"Authorization", ""}, 403, ""},
		{"/opc/v2/instance/", "10.0.1.2", [2]string{"X-Forwarded-For", "1.2.3.4"}, 403, ""},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		request.RemoteAddr = test.client + ":1234"
		request.Header.Set("Authorization", "Bearer Oracle")
		if test.header[0] != "" {
			request.Header.Set(test.header[0], test.header[1])
		}
		answer := httptest.NewRecorder()
		hosts.serveMetadata(answer, request)
		if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.body) {
			t.Errorf("%s from %s with %v: %d %s", test.path, test.client, test.header, answer.Code, answer.Body)
		}
	}
}
