// SPDX-License-Identifier: MPL-2.0

package job

import (
	"cmp"
	"slices"
)

// Expectation is what a report is judged by. Correct results (no wrong value) and the right number of
// ranks and hosts are always expected. Without a limit here, those of the shape catalog are used.
type Expectation struct {
	// MinBusbwGBPerS is the least bus bandwidth; nil means that this limit is not set.
	MinBusbwGBPerS *float64 `json:"min_busbw_gb_per_s,omitempty"`
	// AtLeastBytes: only sizes from here on are judged by MinBusbwGBPerS. 0 means only the largest.
	AtLeastBytes int64 `json:"at_least_bytes,omitempty"`
	// Limits are more of them, each for a range of sizes. All that hold for a size are applied to it.
	Limits []Limit `json:"limits,omitempty"`
}

// And is an expectation with another one added. largest is the largest size that is asked for.
func (e Expectation) And(other Expectation, largest int64) Expectation {
	e.Limits = slices.Concat(e.Limits, other.Limits)
	switch {
	case other.MinBusbwGBPerS == nil:
	case e.MinBusbwGBPerS == nil:
		e.MinBusbwGBPerS, e.AtLeastBytes = other.MinBusbwGBPerS, other.AtLeastBytes
	default:
		e.Limits = append(e.Limits, Limit{FromBytes: cmp.Or(other.AtLeastBytes, largest), MinBusbwGBPerS: other.MinBusbwGBPerS})
	}
	return e
}

// Limit is the least bus bandwidth for messages of a range of sizes.
type Limit struct {
	FromBytes int64 `json:"from_bytes"`
	// ToBytes is exclusive; 0 has no end.
	ToBytes int64 `json:"to_bytes,omitempty"`
	// MinBusbwGBPerS: less is a failure. WarnBusbwGBPerS: less is a warning. At least one of them is set.
	MinBusbwGBPerS  *float64 `json:"min_busbw_gb_per_s,omitempty"`
	WarnBusbwGBPerS *float64 `json:"warn_busbw_gb_per_s,omitempty"`
}

// Holds says whether the limit is one for messages of that size.
func (l Limit) Holds(bytes int64) bool {
	return l.FromBytes <= bytes && (l.ToBytes == 0 || bytes < l.ToBytes)
}

// AppliedLimit is a limit by which a verdict was found.
type AppliedLimit struct {
	Limit
	// Origin is who set it: OriginUser, or the shape catalog with its own source.
	Origin string `json:"origin"`
	// Sizes is how many of the measured sizes it holds for.
	Sizes int `json:"sizes"`
}

// OriginUser is the [AppliedLimit]'s origin where the job itself has the limit.
const OriginUser = "expect"

// Baseline is an earlier result to compare with, and how much slower than that is too slow.
type Baseline struct {
	// Collective, Ranks and Hosts of it: a run of another kind is not compared. Empty ones are not known.
	Collective string `json:"collective,omitempty"`
	Ranks      int    `json:"ranks,omitempty"`
	Hosts      int    `json:"hosts,omitempty"`

	Sizes []SizeSummary `json:"sizes"`

	// MaxRegressionPercent: a bus bandwidth that is lower by more is a failure. WarnRegressionPercent: it is a warning.
	MaxRegressionPercent  *float64 `json:"max_regression_percent,omitempty"`
	WarnRegressionPercent *float64 `json:"warn_regression_percent,omitempty"`
	// AtLeastBytes: only sizes from here on are judged. 0 means only the largest that both have.
	AtLeastBytes int64 `json:"at_least_bytes,omitempty"`
}

// Transport says what the nodes must talk by.
type Transport string

// Transports.
const (
	// TransportAuto is RDMA where the shape and every node have it.
	TransportAuto Transport = ""
	TransportRDMA Transport = "rdma"
	TransportAny  Transport = "any"
)
