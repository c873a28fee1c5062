// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/identity"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// rawRequest is what the SDK would send, signed last.
func (r *region) rawRequest(t *testing.T, method, path, body string, change func(*http.Request)) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, reader)
	must(t, err)
	q.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	q.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(q)
	}
	return q
}

func do(t *testing.T, q *http.Request) (status int, text string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(q)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	const list = "/20160918/availabilityDomains?compartmentId=" + compartmentID
	const update = "/20160918/instanceConfigurations/ocid1.x"
	date := func(ago time.Duration) func(*http.Request) {
		return func(q *http.Request) { q.Header.Set("Date", time.Now().Add(-ago).UTC().Format(http.TimeFormat)) }
	}
	good := provider(t, apiKey())
	generic, body := common.DefaultGenericHeaders(), common.DefaultBodyHeaders()
	for name, c := range map[string]struct {
		method, path, body string
		before, after      func(*http.Request)
		signer             common.HTTPRequestSigner
		status             int
	}{
		"signed":                 {method: "GET", path: list, status: 200},
		"signed body":            {method: "PUT", path: update, body: "{}", status: 404},
		"signed empty body":      {method: "POST", path: update, status: 501},
		"no canonical path":      {method: "GET", path: "/" + list, status: 501},
		"four minutes late":      {method: "GET", path: list, before: date(4 * time.Minute), status: 200},
		"six minutes late":       {method: "GET", path: list, before: date(6 * time.Minute), status: 401},
		"six minutes early":      {method: "GET", path: list, before: date(-6 * time.Minute), status: 401},
		"no date":                {method: "GET", path: list, before: func(q *http.Request) { q.Header.Del("Date") }, status: 401},
		"wrong key":              {method: "GET", path: list, signer: common.DefaultRequestSigner(provider(t, otherKey())), status: 401},
		"other path than signed": {method: "GET", path: list, after: func(q *http.Request) { q.URL.RawQuery += "&limit=1" }, status: 401},
		"other body than signed": {method: "PUT", path: update, body: "{}", after: func(q *http.Request) { q.Body = io.NopCloser(strings.NewReader("[]")) }, status: 401},
		"digest of another body": {method: "PUT", path: update, body: "{}", after: func(q *http.Request) {
			q.Header.Set("X-Content-Sha256", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
		}, status: 401},
		"host not signed":        {method: "GET", path: list, signer: common.RequestSigner(good, []string{"date", "(request-target)"}, body), status: 401},
		"date not signed":        {method: "GET", path: list, signer: common.RequestSigner(good, []string{"(request-target)", "host"}, body), status: 401},
		"digest not signed":      {method: "PUT", path: update, body: "{}", signer: common.RequestSigner(good, generic, []string{"content-length", "content-type"}), status: 401},
		"body not signed at all": {method: "PUT", path: update, body: "{}", signer: common.RequestSignerExcludeBody(good), status: 401},
		"no signature":           {method: "GET", path: list, after: func(q *http.Request) { q.Header.Del("Authorization") }, status: 401},
		"no base64":              {method: "GET", path: list, after: func(q *http.Request) { setSignature(q, "%%%") }, status: 401},
		"other algorithm": {method: "GET", path: list, after: func(q *http.Request) {
			q.Header.Set("Authorization", strings.Replace(q.Header.Get("Authorization"), "rsa-sha256", "rsa-sha1", 1))
		}, status: 401},
		"unknown operation without signature": {method: "GET", path: "/nowhere", after: func(q *http.Request) { q.Header.Del("Authorization") }, status: 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := r.rawRequest(t, c.method, c.path, c.body, c.before)
			sign := c.signer
			if sign == nil {
				sign = common.DefaultRequestSigner(good)
			}
			must(t, sign.Sign(q))
			if c.after != nil {
				c.after(q)
			}
			status, text := do(t, q)
			if status != c.status {
				t.Fatalf("got %d %s, want %d", status, text, c.status)
			}
			if c.status == http.StatusUnauthorized && !strings.Contains(text, `"code":"NotAuthenticated"`) {
				t.Fatalf("the body is %s", text)
			}
		})
	}
}

var signatureValue = regexp.MustCompile(`signature="[^"]*"`)

func setSignature(q *http.Request, v string) {
	q.Header.Set("Authorization", signatureValue.ReplaceAllString(q.Header.Get("Authorization"), `signature="`+v+`"`))
}

func TestWrongKeyThroughSDK(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	r.connect(t, provider(t, otherKey()))
	_, err := r.management.ListClusterNetworks(t.Context(), core.ListClusterNetworksRequest{CompartmentId: common.String(compartmentID)})
	wantError(t, err, 401, "NotAuthenticated")
	wantEqual(t, "refused", r.Stats().Refused, 1)
}

func TestSecurityToken(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Tokens = map[string]ocisim.User{"aa.bb.cc": {ID: userID, Key: &otherKey().PublicKey}}
	})
	list := identity.ListAvailabilityDomainsRequest{CompartmentId: common.String(tenancyID)}
	r.connect(t, signer(t, "ST$aa.bb.cc", otherKey()))
	_, err := r.identity.ListAvailabilityDomains(t.Context(), list)
	must(t, err)
	r.connect(t, signer(t, "ST$aa.bb.dd", otherKey()))
	_, err = r.identity.ListAvailabilityDomains(t.Context(), list)
	wantError(t, err, 401, "NotAuthenticated")
}

func TestForeignCompartment(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Users = append(c.Users, ocisim.User{ID: userID + "2", Key: &otherKey().PublicKey, Compartments: []string{"ocid1.compartment.oc1..other"}})
	})
	id := r.configure(t, launchDetails(gpuShape))
	get := core.GetInstanceConfigurationRequest{InstanceConfigurationId: &id}
	_, err := r.management.GetInstanceConfiguration(t.Context(), get)
	must(t, err)
	_, err = r.management.ListInstanceConfigurations(t.Context(), core.ListInstanceConfigurationsRequest{CompartmentId: common.String("ocid1.compartment.oc1..other")})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")

	r.connect(t, signer(t, keyIDOf(t, userID+"2", otherKey()), otherKey()))
	_, err = r.management.GetInstanceConfiguration(t.Context(), get)
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
	_, err = r.management.CreateInstanceConfiguration(t.Context(), core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{CompartmentId: common.String(compartmentID),
			InstanceDetails: core.ComputeInstanceDetails{LaunchDetails: &core.InstanceConfigurationLaunchInstanceDetails{}}}})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}
