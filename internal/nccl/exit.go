// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// version of nccl-tests; the zero value is unknown. It is printed from 2.17.4 on.
type version [3]int

func (v version) known() bool { return v != version{} }

func (v version) atLeast(other version) bool {
	for i := range v {
		if v[i] != other[i] {
			return v[i] > other[i]
		}
	}
	return true
}

func versionOf(reports []job.Report) (v version) {
	for _, r := range reports {
		for i, number := range strings.SplitN(r.NCCLTestsVersion, ".", 3) {
			v[i], _ = strconv.Atoi(number)
		}
	}
	return v
}

// failureOfStatus says what an exit status means when the output does not tell; nil when it says nothing.
// Source: nccl-tests' testResult_t through the versions (src/common.h).
func failureOfStatus(status *int, v version) *job.Failure {
	if status == nil || *status == 0 {
		return nil
	}
	fail := func(kind, message string) *job.Failure {
		return &job.Failure{Kind: kind, Message: fmt.Sprintf("%s (exit status %d)", message, *status), Advice: "look at the end of the log"}
	}
	switch {
	case *status == 2:
		return fail(KindCUDAError, "CUDA failed")
	case *status == 3:
		return fail(KindNCCLError, "NCCL failed")
	case *status == 4:
		return fail(KindTimeout, "a collective did not end in time")
	case *status == 5:
		return fail(KindNotImplemented, "nccl-tests or NCCL cannot do what was asked for")
	case *status == 6 && v.known() && v.atLeast(version{2, 17, 7}):
		return fail(KindInvalidUsage, "the options do not go together, or NCCL is too old for them")
	case *status == 124: // timeout(1)
		return fail(KindTimeout, "the run did not end in time")
	case *status == 126 || *status == 127: // the shell's
		return fail(KindTestsMissing, "the nccl-tests program was not found or cannot be executed")
	case *status > 128 && *status < 128+65: // the shell's
		return killedBy(*status - 128)
	case *status == -1: // nobody knows, as after a kill
		return &job.Failure{Kind: KindKilled, Message: "the run was ended from outside", Advice: "look at the end of the log"}
	}
	return nil // 1, 6 and 7 also mean wrong values: then the report is complete and says so itself
}

// failureAfterReport says what a status other than 0 means after a complete report that shows no fault.
func failureAfterReport(status *int) *job.Failure {
	if status == nil || *status == 0 {
		return nil
	}
	if *status > 128 && *status < 128+65 {
		return killedBy(*status - 128)
	}
	return &job.Failure{Kind: KindNonzeroExit,
		Message: fmt.Sprintf("the report is complete and shows no fault, yet the run ended with exit status %d", *status),
		Advice:  "look at the end of the log: another process of the run failed, or the run failed while it ended"}
}

// killedBy describes an end by signal.
func killedBy(number int) *job.Failure {
	signal := syscall.Signal(number)
	switch signal {
	case syscall.SIGKILL:
		return &job.Failure{Kind: KindKilled, Message: "a process was killed (SIGKILL)",
			Advice: "look for the out-of-memory killer in the kernel log of the nodes"}
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return &job.Failure{Kind: KindKilled, Message: fmt.Sprintf("a process was ended from outside (signal %d, %s)", number, signal),
			Advice: "look for who ended it: a time limit, a scheduler, a person"}
	}
	return &job.Failure{Kind: KindCrashed, Message: fmt.Sprintf("a process crashed (signal %d, %s)", number, signal),
		Advice: "look at the end of the log for a stack trace; check that NCCL, driver and CUDA belong together on every node"}
}
