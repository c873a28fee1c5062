// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

const (
	// maxCorrectedSRAM is NVIDIA's word for "look at it" in oci-dr-hpc-v2's level-1 tests.
	maxCorrectedSRAM = 1000
	// maxRemappedRows is how many rows a GPU can replace. Source: NVIDIA's memory error management; oci-hpc 3.1.
	maxRemappedRows = 512
)

// gpuJudgement looks at one GPU. An empty outcome says that the GPU does not tell.
type gpuJudgement struct {
	check string
	good  string // what is said when all GPUs pass
	judge func(smiGPU) verdict
}

// verdict of one part of a check. Its advice is empty where the one of job.CheckKinds fits.
type verdict struct {
	outcome job.Outcome
	message string
	advice  string
}

var pass = verdict{outcome: job.Pass}

// gpuJudgements need nvidia-smi's details.
var gpuJudgements = []gpuJudgement{
	{"gpu_ecc", "no uncorrectable memory error", judgeECC},
	{"gpu_row_remap", "no row waits to be replaced", judgeRowRemap},
	{"gpu_recovery", "the driver asks for no recovery", judgeRecovery},
	{"gpu_clocks", "application clocks are the default", judgeClocks},
	{"gpu_throttle", "nothing slows the GPUs", judgeThrottle},
	{"gpu_persistence", "persistence mode is on", judgePersistence},
	{"gpu_pcie", "PCIe links are as wide and fast as they can be", judgePCIe},
}

// checkGPUHealth judges each GPU. Without details one check says so for all.
func checkGPUHealth(f findings) []job.Check {
	if len(f.gpus.list) == 0 {
		return nil // gpu_count tells
	}
	if f.gpus.detailsErr != nil {
		var lost []string
		for _, j := range gpuJudgements {
			lost = append(lost, j.check)
		}
		return []job.Check{check("gpu_details", job.CannotTell, fmt.Sprintf("no state of the GPUs, and so no %s: %v", strings.Join(lost, ", "), f.gpus.detailsErr), "")}
	}
	var checks []job.Check
	for _, j := range gpuJudgements {
		checks = append(checks, j.all(f.gpus.details))
	}
	return checks
}

func (j gpuJudgement) all(gpus []smiGPU) job.Check {
	parts := make([]part, 0, len(gpus))
	for i, g := range gpus {
		parts = append(parts, part{fmt.Sprintf("GPU %d", i), j.judge(g)})
	}
	return combine(j.check, j.good, parts)
}

// part is a verdict on a part of the node, such as GPU 3.
type part struct {
	name string
	verdict
}

// combine makes one check of verdicts on all parts: the worst counts, and all that are not good are named.
// Parts that give the same reason are named together.
func combine(name, good string, parts []part) job.Check {
	worst, advice := job.CannotTell, ""
	said := []string{}
	members := map[string][]string{}
	for _, p := range parts {
		if p.outcome == "" {
			continue
		}
		if worst == job.CannotTell || job.Worse(worst, p.outcome) != worst {
			worst, advice = p.outcome, p.advice
		}
		if p.outcome != job.Pass || p.message != "" {
			if members[p.message] == nil {
				said = append(said, p.message)
			}
			members[p.message] = append(members[p.message], p.name)
		}
	}
	if len(said) == 0 && worst == job.CannotTell {
		return job.Check{} // no part knows such a thing
	}
	for i, message := range said {
		said[i] = strings.Join(members[message], ", ") + ": " + message
	}
	if len(said) == 0 {
		said = []string{good}
	}
	return check(name, worst, strings.Join(said, "; "), advice)
}

func judgeECC(g smiGPU) verdict {
	now, ever := g.Volatile.uncorrectable(), g.Aggregate.uncorrectable()
	corrected, _ := leadingNumber(g.Aggregate.text("sram_correctable"))
	switch {
	case g.ECCMode == "" || g.ECCMode == "N/A":
		return verdict{}
	case g.ECCMode != "Enabled":
		return verdict{job.Warn, "ECC is " + strings.ToLower(g.ECCMode), "on the node: sudo nvidia-smi -e 1, then reboot"}
	case g.Aggregate.text("sram_threshold_exceeded") == "Yes":
		return verdict{job.Fail, "the threshold of SRAM errors is exceeded", job.AdviceReplace}
	case now > 0:
		return verdict{job.Fail, fmt.Sprintf("%d uncorrectable memory errors since the last reset", now), ""}
	case ever > 0:
		return verdict{job.Warn, fmt.Sprintf("%d uncorrectable memory errors before the last reset", ever), "watch it: when the count grows, " + job.AdviceReplace}
	case corrected > maxCorrectedSRAM:
		return verdict{job.Warn, fmt.Sprintf("%d corrected SRAM errors", corrected), "watch it: when the count grows, " + job.AdviceReplace}
	}
	return pass
}

func judgeRowRemap(g smiGPU) verdict {
	rows, known := leadingNumber(g.RowsUncorrectable)
	banks, _ := leadingNumber(g.BanksWithout)
	switch {
	case g.RowsFailed == "Yes":
		return verdict{job.Fail, "a memory row could not be replaced", job.AdviceReplace}
	case rows > maxRemappedRows:
		return verdict{job.Fail, fmt.Sprintf("%d memory rows were replaced", rows), job.AdviceReplace}
	case g.RowsPending == "Yes":
		return verdict{job.Fail, "a memory row waits for a reset to be replaced", job.AdviceResetGPU}
	case g.PagesPending == "Yes":
		return verdict{job.Fail, "a memory page waits for a reset to be retired", job.AdviceResetGPU}
	case banks > 0:
		return verdict{job.Warn, fmt.Sprintf("%d memory banks have no spare row left", banks), "watch it: the next error cannot be repaired; then " + job.AdviceReplace}
	case !known && g.PagesPending != "No":
		return verdict{}
	case rows > 0:
		return verdict{job.Pass, fmt.Sprintf("%d memory rows were replaced, as GPUs can", rows), ""}
	}
	return pass
}

func judgeRecovery(g smiGPU) verdict {
	switch g.Recovery {
	case "", "N/A":
		return verdict{}
	case "None":
		return pass
	case "Reboot":
		return verdict{job.Fail, "the driver asks for a reboot", job.AdviceReboot}
	}
	return verdict{job.Fail, "the driver asks for: " + g.Recovery, ""}
}

func judgeClocks(g smiGPU) verdict {
	set, ok := leadingNumber(g.Clock)
	usual, known := leadingNumber(g.DefaultClock)
	switch {
	case !ok || !known:
		return verdict{}
	case set < usual:
		return verdict{job.Warn, fmt.Sprintf("the application clock is %d MHz, the default is %d MHz", set, usual), ""}
	}
	return pass
}

// slowdowns are the reasons that are no normal working of a loaded or idle GPU.
var slowdowns = []struct {
	name    string
	outcome job.Outcome
	message string
}{
	{"hw_thermal_slowdown", job.Fail, "hardware halves the clocks: too hot"},
	{"hw_power_brake_slowdown", job.Fail, "hardware halves the clocks: the power supply asks for it"},
	{"hw_slowdown", job.Fail, "hardware halves the clocks"},
	{"sw_thermal_slowdown", job.Warn, "the driver lowers the clocks: too hot"},
}

func judgeThrottle(g smiGPU) verdict {
	if len(g.EventReasons.Values)+len(g.ThrottleReasons.Values) == 0 {
		return verdict{}
	}
	for _, s := range slowdowns {
		if g.EventReasons.text("clocks_event_reason_"+s.name) == "Active" || g.ThrottleReasons.text("clocks_throttle_reason_"+s.name) == "Active" {
			return verdict{s.outcome, s.message, ""}
		}
	}
	return pass
}

func judgePersistence(g smiGPU) verdict {
	switch g.Persistence {
	case "Enabled":
		return pass
	case "Disabled":
		return verdict{job.Warn, "persistence mode is off", ""}
	}
	return verdict{}
}

// judgePCIe knows both ends: nvidia-smi's maximum is what GPU and slot can together. An idle link may be slow.
func judgePCIe(g smiGPU) verdict {
	width, ok := leadingNumber(g.LinkWidth)
	widest, known := leadingNumber(g.MaxWidth)
	gen, _ := leadingNumber(g.LinkGen)
	newest, _ := leadingNumber(g.MaxLinkGen)
	switch {
	case !ok || !known:
		return verdict{}
	case width < widest:
		return verdict{job.Fail, fmt.Sprintf("the PCIe link has %d lanes of %d", width, widest), ""}
	case gen < newest && g.PowerState == "P0":
		return verdict{job.Warn, fmt.Sprintf("the PCIe link runs as generation %d of %d", gen, newest), ""}
	}
	return pass
}
