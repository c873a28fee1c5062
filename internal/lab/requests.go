// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// openLog opens a log of a lab, readable by its owner alone. That of a lab that goes on is continued.
func openLog(path string, goesOn bool) (*os.File, error) {
	if !goesOn { // Another file takes its place, so that followers notice.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) // #nosec G304 -- the lab's own
}

// openRequestLog makes the log of a lab's requests, one JSON object a line.
func openRequestLog(dir string, goesOn bool) (func(ocisim.RequestRecord), error) {
	file, err := openLog(filepath.Join(dir, requestFile), goesOn)
	if err != nil {
		return nil, fmt.Errorf("open the log of requests: %w", err)
	}
	var lock sync.Mutex
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	return func(r ocisim.RequestRecord) {
		lock.Lock()
		defer lock.Unlock()
		_ = encoder.Encode(r) // A full disk must not stop the region.
	}, nil
}

// lookInterval is between two looks at a log that is followed, or at a lab that is being started.
const lookInterval = 200 * time.Millisecond

// Requests reads the log of the lab that has, or had, a state directory, oldest first. With follow it
// waits for more until ctx ends, also from a new lab in the same place. It fails with [ErrNotRunning]
// where no lab has been.
func Requests(ctx context.Context, dir string, follow bool) iter.Seq2[ocisim.RequestRecord, error] {
	return func(yield func(ocisim.RequestRecord, error) bool) {
		for readRequests(ctx, dir, follow, yield) {
		}
	}
}

// readRequests reads one log, and says whether another one has taken its place since.
func readRequests(ctx context.Context, dir string, follow bool, yield func(ocisim.RequestRecord, error) bool) (replaced bool) {
	file, err := os.Open(filepath.Join(dir, requestFile)) // #nosec G304 -- the caller's directory
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	if err != nil {
		yield(ocisim.RequestRecord{}, err)
		return false
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(file)
	var line []byte // what has been written of it
	for {
		part, err := lines.ReadBytes('\n')
		line = append(line, part...)
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			yield(ocisim.RequestRecord{}, fmt.Errorf("read the log of requests: %w", err))
			return false
		case replaced, !follow: // and read to its end after that
			return replaced
		case isReplaced(file):
			replaced = true
			continue
		case !wait(ctx, lookInterval):
			return false
		default:
			continue
		}
		var record ocisim.RequestRecord
		if err := json.Unmarshal(bytes.TrimSpace(line), &record); err != nil {
			yield(record, fmt.Errorf("read the log of requests: %w", err))
			return false
		}
		if line = line[:0]; !yield(record, nil) {
			return false
		}
	}
}

// isReplaced says whether the path of an open file leads to another one by now.
func isReplaced(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(file.Name())
	return err == nil && !os.SameFile(opened, now)
}

// wait says false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
