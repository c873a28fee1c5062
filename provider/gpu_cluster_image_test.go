// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// The newest image is selected by the apply, and stays while the selector does.
func TestAccGPUCluster_imageSelector(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	region := acctest.StartRegion(t, func(c *ocisim.Config) {
		for i, name := range []string{"OL8-GPU-1", "OL8-GPU-2", "OL8-3", "OL9-GPU-4"} {
			c.Images = append(c.Images, ocisim.Image{
				ID: "ocid1.image.oc1.us-lab-1." + strings.ToLower(name), DisplayName: name, TimeCreated: day(i + 1),
				OperatingSystem: "Oracle Linux", OperatingSystemVersion: strings.TrimPrefix(name[:3], "OL"),
			})
		}
		c.Images = append(c.Images, ocisim.Image{ID: "ocid1.image.oc1.us-lab-1.other", DisplayName: "OL8-GPU-6", TimeCreated: day(6),
			OperatingSystem: "Oracle Linux", OperatingSystemVersion: "8", Shapes: []string{"VM.Standard.E5.Flex"}})
	})
	selector := func(version, pattern string) string {
		return fmt.Sprintf(`image = { operating_system = "Oracle Linux", operating_system_version = %q, name_pattern = %q }`, version, pattern)
	}
	s := newSceneIn(t, region, "size = 1", "image_id = null", selector("8", "-GPU-"))
	t.Parallel()
	s.Apply()
	if image := s.text("image_id"); image != "ocid1.image.oc1.us-lab-1.ol8-gpu-2" {
		t.Errorf("the selector gives %s", image)
	}
	nodes, looked := s.nodes(), region.Stats().Operations["ListImages"]
	s.ExpectNoChanges()
	s.want("size = 2", "image_id = null", selector("8", "-GPU-"))
	s.Apply()
	if again := region.Stats().Operations["ListImages"]; again != looked {
		t.Errorf("the image was looked for again, %d times", again-looked)
	}
	s.want("size = 2", "image_id = null", selector("9", "GPU"))
	s.Apply()
	if image := s.text("image_id"); image != "ocid1.image.oc1.us-lab-1.ol9-gpu-4" {
		t.Errorf("the other selector gives %s", image)
	}
	if stale := s.stale(); len(stale) != 2 || stale[0] != nodes[0] {
		t.Errorf("stale are %q", stale)
	}
	// The same image by its OCID is no other image.
	s.want("size = 2", fmt.Sprintf("image_id = %q", s.text("image_id")))
	s.Apply()
	s.ExpectNoChanges()
}

// An image that appears between plan and apply is taken, and contradicts no plan.
func TestAccGPUCluster_imageAppearsAfterPlan(t *testing.T) {
	const older, newer = "ocid1.image.oc1.us-lab-1.older", "ocid1.image.oc1.us-lab-1.newer"
	region := acctest.StartRegion(t, func(c *ocisim.Config) {
		for i, id := range []string{older, newer} {
			c.Images = append(c.Images, ocisim.Image{ID: id, DisplayName: "OL8-" + path.Ext(id)[1:], OperatingSystem: "Oracle Linux",
				TimeCreated: time.Date(2026, 1, i+1, 0, 0, 0, 0, time.UTC)})
		}
	})
	var appeared atomic.Bool
	region.Endpoint = inFrontOf(t, region, func(r *http.Request, answer []byte) []byte {
		if path.Base(r.URL.Path) == "images" && !appeared.Load() {
			return bytes.ReplaceAll(answer, []byte("OL8-newer"), []byte("no-match!"))
		}
		return answer
	})
	s := newSceneIn(t, region, "size = 1", "image_id = null", `image = { operating_system = "Oracle Linux", name_pattern = "OL8" }`)
	t.Parallel()
	s.Must("plan", "-out=plan", "-input=false")
	appeared.Store(true)
	s.Must("apply", "-input=false", "plan")
	if image := s.text("image_id"); image != newer {
		t.Errorf("the image is %s", image)
	}
	appeared.Store(false)
	s.ExpectNoChanges()
}

// inFrontOf puts a server before a region that edits its answers, and gives its address.
func inFrontOf(t *testing.T, region *acctest.Region, edit func(*http.Request, []byte) []byte) string {
	t.Helper()
	target, err := url.Parse(region.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target) // It leaves the Host header alone, which is signed.
	proxy.ModifyResponse = func(answer *http.Response) error {
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		body = edit(answer.Request, body)
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// A selector for a cluster that had none keeps an image that suits, and replaces another.
func TestAccGPUCluster_imageSelectorComesLater(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	const older, newer = "ocid1.image.oc1.us-lab-1.older", "ocid1.image.oc1.us-lab-1.newer"
	region := acctest.StartRegion(t, func(c *ocisim.Config) {
		c.Images = append(c.Images,
			ocisim.Image{ID: older, DisplayName: "OL8-1", OperatingSystem: "Oracle Linux", TimeCreated: day(1)},
			ocisim.Image{ID: newer, DisplayName: "OL8-2", OperatingSystem: "Oracle Linux", TimeCreated: day(2)})
	})
	s := newSceneIn(t, region, "size = 1", fmt.Sprintf("image_id = %q", older))
	t.Parallel()
	s.Apply()
	for _, test := range []struct{ pattern, image string }{{"OL8", older}, {"-2", newer}} {
		id := s.text("id")
		s.Must("state", "rm", clusterAddress)
		s.Must("import", clusterAddress, id)
		s.want("size = 1", "image_id = null", fmt.Sprintf(`image = { operating_system = "Oracle Linux", name_pattern = %q }`, test.pattern))
		s.Apply()
		s.ExpectNoChanges()
		if image := s.text("image_id"); image != test.image {
			t.Errorf("the pattern %s gives %s", test.pattern, image)
		}
	}
}

// What is known at apply only, is selected and checked there.
func TestAccGPUCluster_imageOfUnknownKind(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	s.Configure(clusterHCL(s.region, "size = 1", "image_id = null", `image = { operating_system = terraform_data.os.output }`) +
		"resource \"terraform_data\" \"os\" { input = \"Linux\" }\n")
	golden(t, "image_found_at_apply", s.try())
}
