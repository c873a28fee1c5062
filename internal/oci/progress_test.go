// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Progress is told when it changes, and once a minute while it does not.
func TestProgressIsToldOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		watch := newWatch(func(p Progress) { told = append(told, p.Elapsed) })
		for second := range 180 {
			seen := Progress{Cluster: Cluster{State: provisioning}}
			if second >= 90 {
				seen.Cluster.CurrentSize = 1
			}
			watch.see(t.Context(), seen)
			time.Sleep(time.Second)
		}
		want := []time.Duration{0, time.Minute, 90 * time.Second, 150 * time.Second}
		if !slices.Equal(told, want) {
			t.Errorf("told after %v, want %v", told, want)
		}
	})
}
