// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// raw sends a signed request as it is, without the checks of the SDK's client.
func (r *region) raw(t *testing.T, method, path, body string) (*http.Response, string) {
	t.Helper()
	q := r.rawRequest(t, method, path, body, nil)
	must(t, common.DefaultRequestSigner(provider(t, apiKey())).Sign(q))
	resp, err := http.DefaultClient.Do(q)
	must(t, err)
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	return resp, string(text)
}

const rawLaunch = `"compartmentId":"` + compartmentID + `","availabilityDomain":"` + domain + `","shape":"` + vmShape +
	`","createVnicDetails":{"subnetId":"` + subnetID + `"}`

func rawSource(fields string) string {
	return `"sourceDetails":{"sourceType":"image","imageId":"` + imageID + `"` + fields + `}`
}

func rawTags(count int) string {
	var tags []string
	for i := range count {
		tags = append(tags, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return "{" + strings.Join(tags, ",") + "}"
}

// TestFieldValidation sends what the SDK's client lets through, or would not send.
func TestFieldValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	launch := func(more string) string { return `{` + rawLaunch + `,` + rawSource("") + more + `}` }
	metadata := func(bytes int) string {
		return `,"metadata":{"k":"` + strings.Repeat("x", bytes-1) + `"}`
	}
	for name, c := range map[string]struct {
		path, body string
		status     int
		code, text string
	}{
		"sound":                {"/instances", launch(""), 200, "", ""},
		"unknown field":        {"/instances", launch(`,"frobnicate":{"a":1}`), 200, "", ""},
		"displayName":          {"/instances", launch(`,"displayName":"` + strings.Repeat("ä", 256) + `"`), 400, "InvalidParameter", "displayName"},
		"longest displayName":  {"/instances", launch(`,"displayName":"` + strings.Repeat("ä", 255) + `"`), 200, "", ""},
		"empty displayName":    {"/instances", launch(`,"displayName":""`), 400, "InvalidParameter", "displayName"},
		"hostname":             {"/instances", launch(`,"hostnameLabel":"no spaces"`), 400, "InvalidParameter", "hostnameLabel"},
		"no compartment":       {"/instances", `{"availabilityDomain":"` + domain + `"}`, 400, "MissingParameter", "compartmentId"},
		"compartment":          {"/instances", `{"compartmentId":"mine","availabilityDomain":"` + domain + `"}`, 400, "InvalidParameter", "compartmentId"},
		"foreign compartment":  {"/instances", strings.ReplaceAll(launch(""), compartmentID, "ocid1.compartment.oc1..other"), 404, "NotAuthorizedOrNotFound", ""},
		"image is a subnet":    {"/instances", strings.ReplaceAll(launch(""), imageID, subnetID), 404, "NotAuthorizedOrNotFound", ""},
		"image is no OCID":     {"/instances", strings.ReplaceAll(launch(""), imageID, "Oracle-Linux-8"), 400, "InvalidParameter", "sourceDetails.imageId"},
		"subnet is no OCID":    {"/instances", strings.ReplaceAll(launch(""), subnetID, "private"), 400, "InvalidParameter", "createVnicDetails.subnetId"},
		"NSG is no OCID":       {"/instances", strings.Replace(launch(""), `"subnetId"`, `"nsgIds":["a"],"subnetId"`, 1), 400, "InvalidParameter", "createVnicDetails.nsgIds"},
		"small boot volume":    {"/instances", `{` + rawLaunch + `,` + rawSource(`,"bootVolumeSizeInGBs":49`) + `}`, 400, "InvalidParameter", "bootVolumeSizeInGBs"},
		"least boot volume":    {"/instances", `{` + rawLaunch + `,` + rawSource(`,"bootVolumeSizeInGBs":50`) + `}`, 200, "", ""},
		"large boot volume":    {"/instances", `{` + rawLaunch + `,` + rawSource(`,"bootVolumeSizeInGBs":32769`) + `}`, 400, "InvalidParameter", "from 50 to 32768"},
		"VPUs":                 {"/instances", `{` + rawLaunch + `,` + rawSource(`,"bootVolumeVpusPerGB":15`) + `}`, 400, "InvalidParameter", "multiple of 10"},
		"most VPUs":            {"/instances", `{` + rawLaunch + `,` + rawSource(`,"bootVolumeVpusPerGB":120`) + `}`, 200, "", ""},
		"too many VPUs":        {"/instances", `{` + rawLaunch + `,` + rawSource(`,"bootVolumeVpusPerGB":130`) + `}`, 400, "InvalidParameter", "from 10 to 120"},
		"no OCPU":              {"/instances", launch(`,"shapeConfig":{"ocpus":0}`), 400, "InvalidParameter", "shapeConfig.ocpus"},
		"source type":          {"/instances", `{` + rawLaunch + `,"sourceDetails":{"sourceType":"tape"}}`, 400, "InvalidParameter", "sourceDetails"},
		"enum":                 {"/instances", launch(`,"launchOptions":{"bootVolumeType":"FLOPPY"}`), 400, "InvalidParameter", "launchOptions.bootVolumeType"},
		"base64":               {"/instances", launch(`,"metadata":{"user_data":"#cloud-config"}`), 400, "InvalidParameter", "metadata.user_data"},
		"metadata":             {"/instances", launch(metadata(32000)), 200, "", ""},
		"too much metadata":    {"/instances", launch(metadata(32001)), 400, "InvalidParameter", "32001"},
		"extended metadata":    {"/instances", launch(metadata(31990) + `,"extendedMetadata":{"a":{"b":"c"}}`), 400, "InvalidParameter", "extendedMetadata"},
		"metadata of numbers":  {"/instances", launch(`,"metadata":{"a":1}`), 400, "CannotParseRequest", ""},
		"ten tags":             {"/instances", launch(`,"freeformTags":` + rawTags(10)), 200, "", ""},
		"eleven tags":          {"/instances", launch(`,"freeformTags":` + rawTags(11)), 400, "InvalidParameter", "11 free-form tags"},
		"tag's key":            {"/instances", launch(`,"freeformTags":{"` + strings.Repeat("k", 101) + `":"v"}`), 400, "InvalidParameter", "freeformTags"},
		"tag's value":          {"/instances", launch(`,"freeformTags":{"k":"` + strings.Repeat("v", 257) + `"}`), 400, "InvalidParameter", "freeformTags"},
		"defined tags":         {"/instances", launch(`,"definedTags":{"Oracle-Tags":` + rawTags(65) + `}`), 400, "", ""},
		"pool without size":    {"/instancePools", `{"compartmentId":"` + compartmentID + `","instanceConfigurationId":"ocid1.instanceconfiguration.oc1..x","placementConfigurations":[]}`, 400, "MissingParameter", "size"},
		"pool of minus one":    {"/instancePools", `{"compartmentId":"` + compartmentID + `","instanceConfigurationId":"ocid1.instanceconfiguration.oc1..x","size":-1,"placementConfigurations":[{"availabilityDomain":"x"}]}`, 400, "InvalidParameter", "size"},
		"pool of half":         {"/instancePools", `{"compartmentId":"` + compartmentID + `","size":0.5}`, 400, "CannotParseRequest", ""},
		"placement constraint": {"/clusterNetworks", `{"compartmentId":"` + compartmentID + `","instancePools":[{"instanceConfigurationId":"ocid1.instanceconfiguration.oc1..x","size":1}],"placementConfiguration":{"availabilityDomain":"x","placementConstraint":"NEARBY"}}`, 400, "InvalidParameter", "placementConfiguration.placementConstraint"},
		"no network placement": {"/clusterNetworks", `{"compartmentId":"` + compartmentID + `","instancePools":[{"instanceConfigurationId":"ocid1.instanceconfiguration.oc1..x","size":1}]}`, 400, "MissingParameter", "placementConfiguration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, text := r.raw(t, http.MethodPost, "/20160918"+c.path, c.body)
			if resp.StatusCode != c.status || c.code != "" && !strings.Contains(text, `"code":"`+c.code+`"`) || !strings.Contains(text, c.text) {
				t.Errorf("got %d %s, want %d %s that names %s", resp.StatusCode, text, c.status, c.code, c.text)
			}
		})
	}
}

// TestStatusCodes checks what the SDK does not: codes, headers and emptiness of the answers to creates,
// updates, actions and deletes.
func TestStatusCodes(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	const (
		etag    = "Etag"
		work    = "Opc-Work-Request-Id"
		nothing = ""
	)
	id := func(text string) string {
		var resource struct {
			ID string `json:"id"`
		}
		must(t, json.Unmarshal([]byte(text), &resource))
		return resource.ID
	}
	expect := func(what, method, path, body string, status int, headers ...string) string {
		t.Helper()
		resp, text := r.raw(t, method, "/20160918"+path, body)
		if resp.StatusCode != status {
			t.Fatalf("%s: %d %s, want %d", what, resp.StatusCode, text, status)
		}
		for _, h := range []string{etag, work} {
			want := strings.Contains(strings.Join(headers, " "), h)
			if has := resp.Header.Get(h) != nothing; has != want {
				t.Errorf("%s: header %s is there: %t, want %t", what, h, has, want)
			}
		}
		if status == http.StatusNoContent && text != "" {
			t.Errorf("%s: a body where there must be none: %s", what, text)
		}
		if resp.Header.Get("Opc-Request-Id") == "" {
			t.Errorf("%s: no request id", what)
		}
		return text
	}
	userData := base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))
	configuration := id(expect("create configuration", "POST", "/instanceConfigurations", `{"compartmentId":"`+compartmentID+`","source":"NONE",
		"instanceDetails":{"instanceType":"compute","launchDetails":{"compartmentId":"`+compartmentID+`","shape":"`+gpuShape+`",
		"metadata":{"user_data":"`+userData+`"},`+rawSource("")+`}}}`, 200, etag))
	expect("update configuration", "PUT", "/instanceConfigurations/"+configuration, `{"displayName":"b"}`, 200, etag)

	network := id(expect("create cluster network", "POST", "/clusterNetworks", `{"compartmentId":"`+compartmentID+`",
		"instancePools":[{"instanceConfigurationId":"`+configuration+`","size":1}],
		"placementConfiguration":{"availabilityDomain":"`+domain+`","primaryVnicSubnets":{"subnetId":"`+subnetID+`"}}}`, 200, etag, work))
	r.awaitNetwork(t, &network, core.ClusterNetworkLifecycleStateRunning)
	expect("update cluster network", "PUT", "/clusterNetworks/"+network, `{"displayName":"b"}`, 200, etag)
	expect("delete a configuration in use", "DELETE", "/instanceConfigurations/"+configuration, "", 409)
	expect("terminate cluster network", "DELETE", "/clusterNetworks/"+network, "", 204, work)

	release := hosts.hold(&hosts.boots)
	pool := id(expect("create pool", "POST", "/instancePools", `{"compartmentId":"`+compartmentID+`","instanceConfigurationId":"`+configuration+`","size":2,
		"placementConfigurations":[{"availabilityDomain":"`+domain+`","primarySubnetId":"`+subnetID+`"}]}`, 200, etag))
	expect("update a pool that is not RUNNING", "PUT", "/instancePools/"+pool, `{"size":3}`, 409)
	release()
	r.awaitPool(t, &pool, core.InstancePoolLifecycleStateRunning)
	expect("update pool", "PUT", "/instancePools/"+pool, `{"displayName":"b"}`, 200, etag)
	member := *r.poolInstances(t, &pool)[0].Id
	expect("detach", "POST", "/instancePools/"+pool+"/actions/detachInstance", `{"instanceId":"`+member+`"}`, 204, work)
	r.awaitPool(t, &pool, core.InstancePoolLifecycleStateRunning)
	expect("attach", "POST", "/instancePools/"+pool+"/instances", `{"instanceId":"`+member+`"}`, 200, etag, work)
	r.awaitPool(t, &pool, core.InstancePoolLifecycleStateRunning)
	expect("terminate pool", "DELETE", "/instancePools/"+pool, "", 204)

	instance := id(expect("launch", "POST", "/instances", `{`+rawLaunch+`,`+rawSource("")+`}`, 200, etag, work))
	r.awaitInstance(t, &instance, core.InstanceLifecycleStateRunning)
	expect("update instance", "PUT", "/instances/"+instance, `{"displayName":"b"}`, 200, etag, work)
	expect("instance action", "POST", "/instances/"+instance+"?action=STOP", "", 200, etag)
	expect("terminate instance", "DELETE", "/instances/"+instance, "", 204, work)

	cluster := id(expect("create compute cluster", "POST", "/computeClusters", `{"compartmentId":"`+compartmentID+`","availabilityDomain":"`+domain+`"}`, 200, etag))
	expect("delete compute cluster", "DELETE", "/computeClusters/"+cluster, "", 204)

	reservation := id(expect("create reservation", "POST", "/computeCapacityReservations", `{"compartmentId":"`+compartmentID+`","availabilityDomain":"`+domain+`"}`, 201, etag, work))
	eventually(t, "the reservation is ACTIVE", func() bool {
		_, text := r.raw(t, "GET", "/20160918/computeCapacityReservations/"+reservation, "")
		return strings.Contains(text, `"ACTIVE"`)
	})
	expect("delete reservation", "DELETE", "/computeCapacityReservations/"+reservation, "", 202, work)
	vcn := id(expect("create VCN", "POST", "/vcns", `{"compartmentId":"`+compartmentID+`","cidrBlocks":["10.9.0.0/16"]}`, 200, etag))
	expect("update VCN", "PUT", "/vcns/"+vcn, `{"displayName":"b"}`, 200, etag)
	expect("add a block to a VCN", "POST", "/vcns/"+vcn+"/actions/addCidr", `{"cidrBlock":"10.8.0.0/16"}`, 200, work)
	expect("delete VCN", "DELETE", "/vcns/"+vcn, "", 204)
	expect("no such operation", "POST", "/frobnications", `{}`, 501)
	expect("nothing there", "GET", "/instances/"+imageID, "", 404)
}
