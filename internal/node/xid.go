// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// xid is an error that NVIDIA's driver wrote to the kernel log.
type xid struct {
	bus  string // of the GPU, such as 0000:0f:00
	code int
	text string
	// seconds of the kernel's clock; 0 when the log shows none.
	seconds float64
}

// kernelLog gives the kernel's messages since boot, as far back as it keeps them.
func kernelLog(ctx context.Context) (string, error) {
	const size, readAll = 10, 3 // SYSLOG_ACTION_SIZE_BUFFER, SYSLOG_ACTION_READ_ALL
	bytes, err := unix.Klogctl(size, nil)
	if err == nil {
		buffer := make([]byte, bytes)
		if bytes, err = unix.Klogctl(readAll, buffer); err == nil {
			return string(buffer[:bytes]), nil
		}
	}
	if text, err := answerAsRoot(ctx, "dmesg"); err == nil {
		return text, nil
	}
	return "", fmt.Errorf("only root may read the kernel log, and sudo needs a password: %w", err)
}

func askXIDs(ctx context.Context) ([]xid, error) {
	text, err := kernelLog(ctx)
	if err != nil {
		return nil, err
	}
	return parseXIDs(text), nil
}

// xidLine is a line such as
//
//	[ 8433.331004] NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
var xidLine = regexp.MustCompile(`NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d{1,4})\b,? ?(.*)`)

var kernelTime = regexp.MustCompile(`\[ *(\d+\.\d+)\]`)

const (
	xidRecoveryAction = 154 // tells what the driver asks for now
	noRecoveryAction  = "(None)"
)

// parseXIDs gives the errors that still matter: the driver's word that a GPU needs nothing ends what was before.
func parseXIDs(log string) []xid {
	var found []xid
	for line := range strings.Lines(log) {
		match := xidLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		code, err := strconv.Atoi(match[2])
		if err != nil {
			continue
		}
		x := xid{bus: match[1], code: code, text: strings.TrimSpace(match[3])}
		if at := kernelTime.FindStringSubmatch(line); at != nil {
			x.seconds, _ = strconv.ParseFloat(at[1], 64)
		}
		if code == xidRecoveryAction && strings.HasSuffix(x.text, noRecoveryAction) {
			found = slices.DeleteFunc(found, func(old xid) bool { return old.bus == x.bus })
			continue
		}
		found = append(found, x)
	}
	return found
}

// xidMeaning is what NVIDIA says of a code, shortened. Codes that are not here are shown as a warning.
type xidMeaning struct {
	outcome job.Outcome
	message string
	advice  string
}

// ofProgram is an error of the program that used the GPU; the GPU is well.
func ofProgram(message string) xidMeaning { return xidMeaning{job.Pass, message, ""} }

// Source: NVIDIA's Xid catalog, https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
var xidMeanings = map[int]xidMeaning{
	13: ofProgram("a program's kernel failed"), 31: ofProgram("a program used memory that is not its own"),
	43: ofProgram("a program's channel was stopped"), 45: ofProgram("a program was ended"),
	63:  {job.Pass, "a memory row is to be replaced", ""}, // gpu_row_remap judges
	94:  ofProgram("a contained memory error ended a program"),
	48:  {job.Fail, "an uncorrectable memory error", job.AdviceResetGPU},
	62:  {job.Fail, "a microcontroller of the GPU halted", job.AdviceResetGPU},
	64:  {job.Fail, "a memory row could not be replaced", job.AdviceReplace},
	74:  {job.Fail, "an NVLink failed", job.AdviceReboot},
	79:  {job.Fail, "the GPU fell off the bus", job.AdviceReboot},
	92:  {job.Fail, "many corrected memory errors", job.AdviceReplace},
	95:  {job.Fail, "an uncontained memory error", job.AdviceResetGPU},
	109: {job.Fail, "a context switch timed out", job.AdviceResetGPU},
	119: {job.Fail, "the GPU's system processor did not answer", job.AdviceResetGPU},
	120: {job.Fail, "the GPU's system processor failed", job.AdviceResetGPU},
	136: {job.Fail, "NVLink training failed", job.AdviceReboot},
	140: {job.Fail, "an uncorrectable memory error", job.AdviceResetGPU},
	143: {job.Fail, "the GPU could not be initialised", job.AdviceReboot},
	154: {job.Fail, "the driver asks for a recovery", job.AdviceResetGPU},
	158: {job.Fail, "a fatal timeout of the GPU", job.AdviceResetGPU},
}

// checkXIDs says what the kernel log holds, for nodes with GPUs.
func checkXIDs(f findings) job.Check {
	const name = "gpu_xid"
	switch {
	case len(f.gpus.list) == 0 && f.gpus.err != nil && missing(f.gpus.err):
		return job.Check{}
	case f.xids.err != nil:
		return check(name, job.CannotTell, f.xids.err.Error(), "let the login user run dmesg by sudo without a password, or: sudo sysctl kernel.dmesg_restrict=0")
	}
	type kind struct {
		bus  string
		code int
	}
	count := map[kind]int{}
	last := map[kind]xid{}
	var order []kind
	for _, x := range f.xids.value {
		k := kind{x.bus, x.code}
		if count[k]++; count[k] == 1 {
			order = append(order, k)
		}
		last[k] = x
	}
	parts := []part{}
	for _, k := range order {
		meaning, known := xidMeanings[k.code]
		if !known {
			meaning = xidMeaning{job.Warn, "not known as harmless", "look the code up in NVIDIA's Xid catalog: https://docs.nvidia.com/deploy/xid-errors"}
		}
		message := fmt.Sprintf("Xid %d, %s, %d times%s", k.code, meaning.message, count[k], ago(f.upTime-last[k].seconds, last[k].seconds))
		if meaning.outcome != job.Pass && last[k].text != "" {
			message += " (" + last[k].text + ")"
		}
		parts = append(parts, part{"GPU at " + k.bus, verdict{meaning.outcome, message, meaning.advice}})
	}
	if len(parts) == 0 {
		return check(name, job.Pass, "no Xid error in the kernel log", "")
	}
	return combine(name, "", parts)
}

// ago tells people how old the last of several events is.
func ago(seconds, at float64) string {
	switch {
	case at == 0 || seconds < 0:
		return ""
	case seconds < 120:
		return fmt.Sprintf(", the last %.0f seconds ago", seconds)
	case seconds < 7200:
		return fmt.Sprintf(", the last %.0f minutes ago", seconds/60)
	}
	return fmt.Sprintf(", the last %.0f hours ago", seconds/3600)
}
