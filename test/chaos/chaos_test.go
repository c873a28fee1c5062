// SPDX-License-Identifier: MPL-2.0

// Package chaos kills Terraform, the provider and the region at random moments, and expects that the next
// apply, or the import that it names, reaches the wanted state, and that destroy leaves nothing.
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

var (
	moments = flag.Int("moments", 1, "random moments for each victim and each operation")
	setUps  = flag.Int("set-ups", 1, "set-ups that are disturbed at a random moment")
	seed    = flag.Uint64("seed", 0, "seed of the moments; 0 draws one")
)

func TestMain(m *testing.M) {
	if file := os.Getenv(callerVariable); file != "" {
		os.Exit(becomeCaller(file))
	}
	acctest.Main(m)
}

const address = "ocihpc_gpu_cluster.this"

// interconnects that a cluster is made with: OCI holds the nodes together by a network, by a pool alone, or
// we do.
var interconnects = []string{"cluster_network", "compute_cluster", "none"}

// hcl is a cluster of so many nodes in the lab that the environment names.
func hcl(interconnect string, size int) string {
	return fmt.Sprintf(`
provider "ocihpc" {}
variable "compartment_id" {}
variable "availability_domain" {}
variable "subnet_id" {}
variable "image_id" {}
resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = var.compartment_id
  availability_domain = var.availability_domain
  subnet_id           = var.subnet_id
  image_id            = var.image_id
  display_name        = "train"
  shape               = "BM.GPU4.8"
  interconnect        = %q
  size                = %d
}
`, interconnect, size)
}

var apply = []string{"apply", "-auto-approve", "-no-color", "-input=false"}

// operation is what is interrupted, after what was there before it.
type operation struct {
	name          string
	before, after int // nodes; 0 means no cluster
}

var operations = []operation{{"create", 0, 2}, {"grow", 1, 3}, {"shrink", 3, 1}, {"delete", 2, 0}}

// victims and how each is killed while Terraform runs.
var victims = map[string]func(*testing.T, *region, *acctest.Running){
	"terraform": func(t *testing.T, _ *region, r *acctest.Running) { killTerraform(t, r) },
	"provider":  func(_ *testing.T, _ *region, r *acctest.Running) { r.KillProvider() },
	"region":    func(t *testing.T, r *region, _ *acctest.Running) { r.killAndRestart(t) },
}

func TestKill(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("the moments are drawn with -seed %d", *seed)
	for _, o := range operations {
		took := undisturbed(t, o)
		for name, kill := range victims {
			random := rand.New(rand.NewPCG(*seed, uint64(len(name)+100*o.before+10000*o.after)))
			for n := range *moments {
				after, interconnect := time.Duration(random.Int64N(int64(took))), interconnects[random.IntN(len(interconnects))]
				t.Run(fmt.Sprintf("%s/%s/%s/%d", name, o.name, interconnect, n), func(t *testing.T) {
					t.Parallel()
					survive(t, o, interconnect, kill, after)
				})
			}
		}
	}
}

// undisturbed gives the time that an operation takes when nothing is killed.
func undisturbed(t *testing.T, o operation) time.Duration {
	t.Helper()
	_, tf := prepare(t, o, interconnects[0])
	begun := time.Now()
	tf.Must(o.command()...)
	took := time.Since(begun)
	tf.Destroy()
	return took
}

// prepare brings a cluster of a new region to where the operation starts.
func prepare(t *testing.T, o operation, interconnect string) (*region, *acctest.Terraform) {
	t.Helper()
	r := startRegion(t)
	tf := acctest.NewTerraform(t, hcl(interconnect, o.before), r.Info.Environ()...)
	if o.before > 0 {
		tf.Apply()
	}
	if o.after > 0 {
		tf.Configure(hcl(interconnect, o.after))
	}
	return r, tf
}

// survive kills the victim while the operation is carried out, and expects that it can be finished.
func survive(t *testing.T, o operation, interconnect string, kill func(*testing.T, *region, *acctest.Running), after time.Duration) {
	t.Helper()
	r, tf := prepare(t, o, interconnect)
	running := tf.Start(o.command()...)
	time.Sleep(after) // The moment is the point of the test; whichever it is, the end must be the same.
	kill(t, r, running)
	_, output := running.Wait()
	t.Logf("killed after %s:\n%s", after.Round(time.Millisecond), output)

	if o.after > 0 {
		recoverApply(t, tf)
		tf.ExpectNoChanges()
		if nodes, _ := tf.State(address).Values["nodes"].([]any); len(nodes) != o.after {
			t.Errorf("%d nodes instead of %d", len(nodes), o.after)
		}
	}
	tf.Destroy()
	r.expectEmpty(t)
}

func (o operation) command() []string {
	if o.after == 0 {
		return []string{"destroy", "-auto-approve", "-no-color", "-input=false"}
	}
	return apply
}

var importCommand = regexp.MustCompile(`terraform import \S+ '?"?(ocid1\.[a-z]+\.[^\s'"]+)`)

// recoverApply applies again and, where that tells to, imports first.
func recoverApply(t *testing.T, tf *acctest.Terraform) {
	t.Helper()
	status, output := tf.Run(apply...)
	if named := importCommand.FindStringSubmatch(output); status != 0 && named != nil {
		t.Log("imports " + named[1] + ", as it was told to")
		tf.Must("import", "-no-color", "-input=false", address, named[1])
		tf.Apply()
		return
	}
	if status != 0 {
		t.Fatalf("the next apply fails:\n%s", output)
	}
}

// region is a lab without hosts, in a process of its own.
type region struct {
	*lab.Lab
	config lab.Config
}

func startRegion(t *testing.T) *region {
	t.Helper()
	r := &region{config: lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Hosts: lab.HostsNone, TimeScale: 500, Detached: true}}
	r.start(t)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *region) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	if r.Lab, err = lab.Start(ctx, r.config); err != nil {
		t.Fatal(err)
	}
	r.config.HTTPPort = portOf(t, r.Info.Endpoint)
}

// expectEmpty expects that nothing of the cluster is left.
func (r *region) expectEmpty(t *testing.T) {
	t.Helper()
	status, err := r.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := status.InstanceConfigurations + status.ClusterNetworks + status.ComputeClusters + status.InstancePools + status.Instances; n != 0 {
		t.Errorf("%d resources are left: %s", n, strings.TrimSpace(fmt.Sprintf("%+v", status)))
	}
}

// killAndRestart ends the region's process without warning, and starts it again a moment later.
func (r *region) killAndRestart(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(r.Info.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	acctest.Eventually(t, "the region's process is gone", func() bool {
		return errors.Is(syscall.Kill(r.Info.PID, 0), syscall.ESRCH)
	})
	r.start(t)
}

// portOf keeps a restarted region where Terraform looks for it.
func portOf(t *testing.T, endpoint string) int {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// killTerraform ends Terraform without warning, and expects that its providers end by themselves.
func killTerraform(t *testing.T, r *acctest.Running) {
	t.Helper()
	providers := r.Providers()
	r.Kill()
	for _, pid := range providers {
		acctest.Eventually(t, fmt.Sprintf("the provider, process %d, has ended", pid), func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}
