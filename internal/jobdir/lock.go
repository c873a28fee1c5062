// SPDX-License-Identifier: MPL-2.0

// Package jobdir is a job's directory on the head node: who works on the job, its events as they come, its
// result, and how it is started detached, followed and cancelled.
package jobdir

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// ErrRunning says that another runner works on the job.
var ErrRunning = errors.New("the job is running already")

// lock is held by whoever works on the job; the kernel lets go of it when that process ends, however it
// ends. It is a POSIX record lock because the kernel can say who holds it: no process id that has been
// given to another process can mislead.
type lock struct{ file *os.File }

func openLock(path string) (lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- in the job's directory
	if err != nil {
		return lock{}, fmt.Errorf("open lock: %w", err)
	}
	return lock{file}, nil
}

func wholeFile() *unix.Flock_t { return &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart} }

// try takes the lock, or gives ErrRunning.
func (l lock) try() error {
	err := unix.FcntlFlock(l.file.Fd(), unix.F_SETLK, wholeFile())
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrRunning
	}
	if err != nil {
		return fmt.Errorf("lock the job directory: %w", err)
	}
	return nil
}

// wait takes the lock as soon as nobody holds it.
func (l lock) wait() error {
	for {
		err := unix.FcntlFlock(l.file.Fd(), unix.F_SETLKW, wholeFile())
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// close lets go of the lock: closing any descriptor of the file does.
func (l lock) close() { _ = l.file.Close() }

// Holder gives the process id of the runner that works on the job; 0 when none does. It must not be asked
// by the runner that works on the job itself.
func Holder(dir job.Dir) (int, error) {
	file, err := os.OpenFile(dir.Lock(), os.O_RDWR, 0) // #nosec G304 -- in the job's directory
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open lock: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	held := wholeFile()
	if err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, held); err != nil {
		return 0, fmt.Errorf("ask for the lock's holder: %w", err)
	}
	if held.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(held.Pid), nil
}
