// SPDX-License-Identifier: MPL-2.0

package job

// Report is one run of an nccl-tests program: what it printed, typed. A value that the program did not
// print (N/A, nan, a column of another version) is nil, never 0.
type Report struct {
	// Collective such as all_reduce; empty where the output does not name it.
	Collective string `json:"collective"`
	// NCCLTestsVersion such as 2.19.6; empty before 2.17.4, which does not print it.
	NCCLTestsVersion string `json:"nccl_tests_version"`
	Ranks            []Rank `json:"ranks"`
	Rows             []Row  `json:"rows"`
	// AvgBusbwGBPerS is the footer's unweighted mean over all rows. It is reported and never judged.
	AvgBusbwGBPerS *float64 `json:"avg_busbw_gb_per_s"`
	// OutOfBounds counts the checks (row × placement × process) that found a wrong value.
	OutOfBounds *int64 `json:"out_of_bounds"`
	// Complete says that the report reached its footer.
	Complete bool `json:"complete"`
}

// Rank is one GPU that took part.
type Rank struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	Device int    `json:"device"`
	// Name of the device, such as NVIDIA H200.
	Name string `json:"name"`
}

// Row is one message size.
type Row struct {
	SizeBytes int64 `json:"size_bytes"`
	// Count of elements, of a rank's part for collectives that scatter or gather.
	Count int64  `json:"count"`
	Type  string `json:"type"`
	// RedOp is none for collectives without a reduction.
	RedOp string `json:"redop"`
	// Root is -1 for collectives without one; nil where the version does not print it.
	Root       *int       `json:"root"`
	OutOfPlace *Placement `json:"out_of_place"`
	InPlace    *Placement `json:"in_place"`
}

// Placement is one half of a row.
type Placement struct {
	TimeUS       *float64 `json:"time_us"`
	AlgbwGBPerS  *float64 `json:"algbw_gb_per_s"`
	BusbwGBPerS  *float64 `json:"busbw_gb_per_s"`
	WrongResults *int64   `json:"wrong"`
	// Iterations are the statistics of -I (nccl-tests 2.19.2 and later); nil without it.
	Iterations *Iterations `json:"iterations,omitempty"`
}

// Iterations are the times of the single iterations behind a mean. The text has four of the values, the JSON
// report all; nil or empty is what was not printed.
type Iterations struct {
	MinUS     *float64 `json:"min_us,omitempty"`
	MaxUS     *float64 `json:"max_us,omitempty"`
	AvgUS     *float64 `json:"avg_us,omitempty"`
	P50US     *float64 `json:"p50_us,omitempty"`
	P95US     *float64 `json:"p95_us,omitempty"`
	P99US     *float64 `json:"p99_us,omitempty"`
	StdevUS   *float64 `json:"stdev_us,omitempty"`   // of the population
	CVPercent *float64 `json:"cv_percent,omitempty"` // coefficient of variation
	// Skipped is how many samples at the beginning were left out (-K).
	Skipped *int64 `json:"skipped,omitempty"`
	// TimesUS of the iterations, in order.
	TimesUS []float64 `json:"times_us,omitempty"`
	// ProcessMaxTimesUS are the times of each process, by process and iteration. It is time within the collective:
	// who arrives late waits least.
	ProcessMaxTimesUS [][]float64 `json:"process_max_times_us,omitempty"`
}
