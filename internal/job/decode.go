// SPDX-License-Identifier: MPL-2.0

package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrVersion says that a job was written for another version of the contract.
var ErrVersion = errors.New("unsupported job version")

// Decode reads one job and validates it. A field that this version does not know is an error: it may ask
// for something that would silently not be done. ErrVersion is told apart from an invalid job.
func Decode(r io.Reader) (Job, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Job{}, fmt.Errorf("decode job: %w", err)
	}
	if head.Version != Version {
		return Job{}, fmt.Errorf("decode job: %w: the job says %d, this program works with %d; use the runner that came with the program that wrote the job",
			ErrVersion, head.Version, Version)
	}
	var j Job
	if err := DecodeStrict(text, &j); err != nil {
		return Job{}, fmt.Errorf("decode job: %w", err)
	}
	if err := j.Validate(); err != nil {
		return Job{}, err
	}
	return j, nil
}
