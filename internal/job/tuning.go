// SPDX-License-Identifier: MPL-2.0

package job

// Tuning asks for a search for settings that are better than what the runs have: one variable after the other, each value
// measured at the largest size, the best kept. At the end the winner is measured in turns with what there was.
type Tuning struct {
	// Settings to try: values by variable. Empty takes those that matter for the network that the runs used.
	Settings map[string][]string `json:"settings,omitempty"`
	// MaxRuns bounds the search, without the measuring in turns at the end; 0 means [DefaultTuningRuns].
	MaxRuns int `json:"max_runs,omitempty"`
	// MinGainPercent: a winner that is better by less is none; 0 means [DefaultMinGainPercent].
	MinGainPercent float64 `json:"min_gain_percent,omitempty"`
}

// Defaults of a [Tuning].
const (
	DefaultTuningRuns     = 24
	DefaultMinGainPercent = 2
	// TuningPairs is how often winner and default are measured at the end, in turns.
	TuningPairs = 5
)

// Tuned is what came of a [Tuning].
type Tuned struct {
	// Environment that was better than what the runs had; empty where nothing was.
	Environment map[string]string `json:"environment"`
	// SizeBytes is the message size at which settings were compared.
	SizeBytes int64 `json:"size_bytes"`
	// Default and Best are the bus bandwidths that were measured in turns at the end; nil where it did not come to that.
	Default *Spread `json:"default,omitempty"`
	Best    *Spread `json:"best,omitempty"`
	// GainPercent is by how much the median of Best is above that of Default.
	GainPercent *float64 `json:"gain_percent,omitempty"`
	// PValue of the hypothesis that Best is not better (Mann-Whitney, one-sided, exact).
	PValue *float64 `json:"p_value,omitempty"`
	// Trials of the search, in order; the first has no settings.
	Trials []Trial `json:"trials"`
	// Conclusion says in a sentence what it came to.
	Conclusion string `json:"conclusion"`
}

// Trial is one run of the search.
type Trial struct {
	Environment map[string]string `json:"environment"`
	// BusbwGBPerS of the largest size, the lower one of both placements; nil when the run was no good.
	BusbwGBPerS *float64 `json:"busbw_gb_per_s,omitempty"`
	// Problem of a run that was no good; empty otherwise.
	Problem string `json:"problem,omitempty"`
}
