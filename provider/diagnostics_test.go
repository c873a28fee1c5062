// SPDX-License-Identifier: MPL-2.0

package provider

import "testing"

func TestSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"read the private key: no such file": "Read the private key: no such file.",
		"It ended.":                          "It ended.",
		"all_reduce is below 100 GB/s":       "all_reduce is below 100 GB/s.",
		"ocid1.image.oc1..x: it is gone":     "ocid1.image.oc1..x: it is gone.",
		"it failed:\n  log: no host":         "It failed:\n  log: no host",
	} {
		if got := sentence(message); got != want {
			t.Errorf("sentence(%q) is %q, want %q", message, got, want)
		}
	}
}
