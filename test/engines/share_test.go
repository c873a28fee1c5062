// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestShareImages has three nodes pull an image once: its registry is asked for each blob by one node alone.
func TestShareImages(t *testing.T) {
	t.Parallel()
	for _, engine := range []job.Engine{job.Docker, job.Podman, job.Containerd} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			n := startSome(t, engine, 3)
			n.image = n.registry.Push(t, "team/large:1", containertest.Image(t, 4<<20))
			want := n.base
			want.ShareImages, want.Images = true, []string{n.image}
			users := []string{"", user}
			if engine == job.Containerd && os.Getenv("NERDCTL_BINARY") == "" {
				open := containertest.StartRegistry(t, n.lab, containertest.Credentials{})
				n.registry, n.image, users = open, open.Push(t, "team/large:1", containertest.Image(t, 4<<20)), users[:1]
				want.Images, want.InsecureRegistries = []string{n.image}, []string{open.Address}
				want.Versions = map[string]string{"nerdctl": job.NoComponent}
			}
			for _, who := range users {
				want.RootlessUser = who
				n.sharedBy(t, want)
			}
		})
	}
}

// sharedBy expects that one node pulls, that the others get the same image from each other, and that nothing is left to do.
func (n *nodes) sharedBy(t *testing.T, want job.ContainerRuntime) {
	t.Helper()
	before := n.registry.BlobsSent()
	result := n.setUp(t, want, "--max-transfers 1")
	if got := n.registry.BlobsSent() - before; got != 2 { // the layer and the configuration
		t.Errorf("the registry sent %d blobs", got)
	}
	if came := n.imageSteps(t, result, "it came from gpu-"); came != 2 {
		t.Errorf("%d nodes got it from another", came)
	}
	digest := result.Nodes[0].Setup.Images[n.image]
	for _, node := range result.Nodes {
		if node.Setup.Images[n.image] != digest || !strings.Contains(digest, "@sha256:") || len(node.Setup.GPUs) != 4 {
			t.Errorf("%s: %v, GPUs %q", node.Name, node.Setup.Images, node.Setup.GPUs)
		}
	}
	for _, node := range n.setUp(t, want).Nodes {
		if node.Setup.Images[n.image] != digest {
			t.Errorf("%s the second time: %v", node.Name, node.Setup.Images)
		}
		for _, step := range node.Setup.Steps {
			if step.Outcome != job.StepUnchanged {
				t.Errorf("%s: the second time %s: %s: %s", node.Name, step.Title, step.Outcome, step.Message)
			}
		}
	}
}

// imageSteps counts the nodes whose image step says so, and expects that all steps are as they should be.
func (n *nodes) imageSteps(t *testing.T, result job.Result, said string) (count int) {
	t.Helper()
	if result.Outcome != job.Pass {
		t.Errorf("%s: %+v", result.Outcome, result.Failure)
	}
	for _, node := range result.Nodes {
		if node.Setup == nil {
			t.Fatalf("%s was not set up", node.Name)
		}
		for _, step := range node.Setup.Steps {
			if step.Outcome == job.StepFailed {
				t.Errorf("%s: %s: %s\n%s", node.Name, step.Title, step.Message, step.Output)
			}
			if strings.HasPrefix(step.Name, "image-") {
				t.Logf("%s: %s: %s: %s %.1fs", node.Name, step.Name, step.Outcome, step.Message, step.Seconds)
				if strings.Contains(step.Message, said) {
					count++
				}
			}
		}
	}
	return count
}
