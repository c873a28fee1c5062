// SPDX-License-Identifier: MPL-2.0

package jobdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Exit statuses of a runner that worked on a job. They are part of its interface.
const (
	StatusPass        = 0 // pass, or pass with warnings
	StatusFail        = 1 // the job ran, and the verdict is fail
	StatusCouldNotRun = 2 // there is no verdict
	StatusUsage       = 64
)

// StatusOf gives the exit status for an outcome.
func StatusOf(outcome job.Outcome) int {
	switch outcome {
	case job.Pass, job.Warn:
		return StatusPass
	case job.Fail:
		return StatusFail
	default:
		return StatusCouldNotRun
	}
}

// Open gives the directory as an absolute path. It need not exist.
func Open(dir string) (job.Dir, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("job directory: %w", err)
	}
	return job.Dir(filepath.ToSlash(absolute)), nil
}

// Create makes the directory if need be, for its owner alone, and gives it as [Open] does. One that is there
// is refused when others could put files into it: the job's key and socket lie there.
func Create(dir string) (job.Dir, error) {
	opened, err := Open(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(string(opened), 0o700); err != nil {
		return "", fmt.Errorf("job directory: %w", err)
	}
	info, err := os.Stat(string(opened))
	if err != nil {
		return "", fmt.Errorf("job directory: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("job directory: %s (%s) is not yours alone to write to: chmod go-w it, or use another", opened, info.Mode())
	}
	return opened, nil
}

// finished gives the job's exit status, if it is over.
func finished(dir job.Dir) (status int, over bool, err error) {
	text, err := os.ReadFile(dir.Exit())
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read exit status: %w", err)
	}
	status, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, false, fmt.Errorf("read exit status: %w", err)
	}
	return status, true, nil
}

// sweep removes what an earlier run of the job left, but neither the job nor its keys, nor the runner's log,
// which may be this process' own. The directory may be the user's, with other files in it.
func sweep(dir job.Dir) error {
	var logs []string
	for _, run := range []string{job.NodeRun("*"), job.AllNodesRun + "*", "group-[0-9]*", "rail-[0-9]*", "tuning-[0-9]*"} {
		found, err := filepath.Glob(dir.RunLog(run))
		if err != nil {
			return err
		}
		logs = append(logs, found...)
	}
	for _, file := range append(logs, dir.Exit(), dir.Result(), dir.Events(), dir.PID(), dir.Socket()) {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear the job directory: %w", err)
		}
	}
	return nil
}

// writeFile writes a file whole or not at all, and onto the disk.
func writeFile(path string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Writer is the directory of the job that this process works on.
type Writer struct {
	dir    job.Dir
	lock   lock
	events *os.File
}

// Begin takes the directory for this process, clears what an earlier run left, and puts the job there. It
// gives ErrRunning when another runner works there.
func Begin(dir job.Dir, j job.Job) (*Writer, error) {
	l, err := openLock(dir.Lock())
	if err != nil {
		return nil, err
	}
	if err := l.try(); err != nil {
		l.close()
		return nil, err
	}
	w := &Writer{dir: dir, lock: l}
	if err := w.prepare(j); err != nil {
		l.close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) prepare(j job.Job) error {
	if err := sweep(w.dir); err != nil {
		return err
	}
	text, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("encode job: %w", err)
	}
	if err := writeFile(w.dir.Job(), append(text, '\n')); err != nil {
		return fmt.Errorf("write job: %w", err)
	}
	if err := writeFile(w.dir.PID(), fmt.Appendf(nil, "%d\n", os.Getpid())); err != nil {
		return fmt.Errorf("write process id: %w", err)
	}
	w.events, err = os.OpenFile(w.dir.Events(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open events: %w", err)
	}
	return nil
}

// Append adds an event, as one line by one write: a reader sees all of it or nothing.
func (w *Writer) Append(e job.Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if _, err := w.events.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// End writes the result and then the exit status, which says that the job is over, and lets go of the
// directory.
func (w *Writer) End(result job.Result) error {
	defer w.lock.close()
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return errors.Join(
		w.events.Sync(), w.events.Close(),
		writeFile(w.dir.Result(), append(text, '\n')),
		writeFile(w.dir.Exit(), fmt.Appendf(nil, "%d\n", StatusOf(result.Outcome))),
		removed(w.dir.PID()),
	)
}

func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// ReadJob reads a job from a file.
func ReadJob(path string) (job.Job, error) {
	file, err := os.Open(path) // #nosec G304 -- the user's choice
	if err != nil {
		return job.Job{}, fmt.Errorf("read job: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	j, err := job.Decode(file)
	if err != nil {
		return job.Job{}, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}
