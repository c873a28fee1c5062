// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"testing"
	"time"
)

// However slow a clock is, whoever waits for it sleeps in the meantime.
func TestTimer(t *testing.T) {
	t.Parallel()
	for scale, want := range map[float64]time.Duration{1000: 60 * time.Millisecond, 1: time.Minute, 1e-3: time.Hour, 1e-300: time.Hour} {
		c := newClock(scale, anchor{Wall: time.Now(), Scale: scale})
		if got := c.timer(60); got.Round(time.Millisecond) != want {
			t.Errorf("at scale %g, a minute's timer is for %s, want %s", scale, got, want)
		}
	}
}
