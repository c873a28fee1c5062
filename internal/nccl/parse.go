// SPDX-License-Identifier: MPL-2.0

// Package nccl knows nccl-tests: the arguments to start them with, how to read what they print (text and
// the -J report), and what a report is worth against an expectation.
package nccl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Output is what an nccl-tests run said.
type Output struct {
	// Reports in order of their beginning. More than one means that several runs wrote into the log: see
	// [Judge]. Never nil; nor are the Ranks and Rows in it.
	Reports []job.Report `json:"reports"`
	// NCCL is what NCCL itself logged into the output; nil when it logged nothing.
	NCCL *job.NCCLLog `json:"nccl,omitempty"`
	// Failure says why there is no clean, complete report; nil when there is.
	Failure *job.Failure `json:"failure"`
}

// Parse reads the output of nccl-tests: its text, with whatever NCCL and launchers put between the lines, or
// its JSON report. The exit status takes part in telling failures apart; nil means that it is not known. The
// error is the reader's.
func Parse(r io.Reader, exitStatus *int) (Output, error) {
	input := bufio.NewReader(r)
	isJSON, err := startsWithBrace(input)
	if err != nil {
		return Output{}, fmt.Errorf("read nccl-tests output: %w", err)
	}
	if isJSON {
		text, err := io.ReadAll(input)
		if err != nil {
			return Output{}, fmt.Errorf("read nccl-tests JSON report: %w", err)
		}
		return parseJSON(text, exitStatus), nil
	}
	p := NewParser(nil)
	if _, err := io.Copy(p, input); err != nil {
		return Output{}, fmt.Errorf("read nccl-tests output: %w", err)
	}
	return p.Finish(exitStatus), nil
}

// startsWithBrace skips white space and looks at what comes first, without taking it.
func startsWithBrace(r *bufio.Reader) (bool, error) {
	for {
		first, err := r.Peek(1)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !bytes.ContainsAny(first, " \t\r\n") {
			return first[0] == '{', nil
		}
		_, _ = r.Discard(1)
	}
}
