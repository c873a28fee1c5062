// SPDX-License-Identifier: MPL-2.0

package main

import "testing"

func TestRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rate{
		"5mbit": 5_000_000, "1gbit": 1_000_000_000, "8kbit": 8000, "9000bit": 9000,
		"": 0, "5": 0, "mbit": 0, "-1mbit": 0, "0mbit": 0, "7kbit": 0, "1.5mbit": 0, "99999999999gbit": 0, "5 mbit": 0,
	} {
		var r rate
		if err := r.Set(text); (err == nil) != (want > 0) || r != want {
			t.Errorf("%q: %d, %v", text, r, err)
		}
	}
}
