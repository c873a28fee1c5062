// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Each operation gets the time that its size needs, unless the user says otherwise.
func TestAccGPUCluster_timeLeft(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	tf := acctest.NewTerraform(t, clusterHCL(region, "size = 41"), "TF_LOG_PROVIDER=INFO")
	t.Parallel()
	expect := func(what, left, output string) {
		t.Helper()
		if !strings.Contains(output, "time_left="+left) {
			t.Errorf("a %s does not begin with %s:\n%s", what, left, output)
		}
	}
	expect("create of 41 nodes", "1h30m0s", tf.Apply())
	tf.Configure(clusterHCL(region, "size = 61"))
	expect("growth to 61 nodes", "2h0m0s", tf.Apply())
	expect("deletion of 61 nodes", "2h0m0s", tf.Destroy())
}

// A configuration that a refused create cannot take away again is recorded, and goes with the next apply.
func TestAccGPUCluster_leftover(t *testing.T) {
	s := newScene(t, ocisim.Scenario{Faults: []ocisim.Fault{
		{Operation: "CreateClusterNetwork", Effect: ocisim.EffectOutOfCapacity},
		{Operation: "DeleteInstanceConfiguration", Effect: ocisim.EffectUnavailable},
	}})
	t.Parallel()
	golden(t, "capacity_and_leftover", s.try())
	left := s.text("instance_configuration_id")
	s.happen(ocisim.Scenario{})
	s.Apply()
	if now := s.text("instance_configuration_id"); now == left || s.region.Stats().InstanceConfigurations != 1 {
		t.Errorf("beside %s there is %s, %d in all", now, left, s.region.Stats().InstanceConfigurations)
	}
	s.end()
}

// A destroy that does not reach its end says what goes on, and the next one follows it.
func TestAccGPUCluster_destroyFails(t *testing.T) {
	destroy := []string{"destroy", "-auto-approve", "-input=false", "-refresh=false"}
	hang := ocisim.Scenario{Faults: []ocisim.Fault{{Operation: "GetClusterNetwork", Skip: 1, Effect: ocisim.EffectHang}}}
	for name, test := range map[string]struct {
		scenario  ocisim.Scenario
		interrupt bool
		lines     []string
	}{
		"destroy_refused":     {fault("TerminateClusterNetwork", ocisim.EffectNotAuthentic), false, nil},
		"destroy_busy":        {fault("TerminateClusterNetwork", ocisim.EffectIncorrectState), false, []string{`timeouts = { delete = "5s" }`}},
		"destroy_timeout":     {hang, false, []string{`timeouts = { delete = "5s" }`}},
		"destroy_interrupted": {hang, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, test.lines...)
			t.Parallel()
			s.Apply()
			id := s.text("id")
			s.happen(test.scenario)
			running := s.Start(destroy...)
			if test.interrupt {
				acctest.Eventually(t, "the deletion is waited for", func() bool { return s.region.Stats().Faults["GetClusterNetwork"] > 0 })
				running.Interrupt()
			}
			status, output := running.Wait()
			golden(t, name, output)
			if recorded := s.State(clusterAddress); status == 0 || recorded == nil || recorded.Tainted || s.text("id") != id {
				t.Fatalf("exit status %d; recorded: %+v", status, recorded)
			}
			s.happen(ocisim.Scenario{})
			s.end()
		})
	}
}
