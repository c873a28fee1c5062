// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// LockPath is locked by the set-up that works on the node; the kernel lets go of it when that process ends, however it
// ends. What is in the file says whose it is, and counts only while it is locked.
const LockPath = "/run/ocihpc/set-up.lock"

// Owner is whose set-up works on a node.
type Owner struct {
	Key   string    `json:"key"`  // of the job
	User  string    `json:"user"` // who logged in for it
	From  string    `json:"from"` // head node
	Host  string    `json:"host"` // the node itself
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// LockedError says that another set-up works on the node.
type LockedError struct {
	Owner  Owner
	Waited time.Duration
}

func (e *LockedError) Error() string {
	o := e.Owner
	if o.Key == "" {
		return "another set-up works on this node"
	}
	return fmt.Sprintf("another set-up (job %s, process %d, started %s by %s from %s) works on %s since %s",
		o.Key, o.PID, o.Since.UTC().Format("15:04 UTC"), o.User, o.From, o.Host, ago(time.Since(o.Since)))
}

// ago words a duration for people.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}

// Lock takes the node for this process, and gives what lets go of it. It waits as long as limit while another set-up
// works there, which waiting hears of at once and every half minute, and then gives a *LockedError.
func Lock(ctx context.Context, path string, owner Owner, limit time.Duration, waiting func(*LockedError)) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- whoever is on the node may see who works there
		return nil, fmt.Errorf("make the lock of the node: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644) // #nosec G302 G304 -- as above
	if err != nil {
		return nil, fmt.Errorf("open the lock of the node: %w", err)
	}
	began, told := time.Now(), time.Time{}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- a descriptor
		switch {
		case err == nil:
			return func() { _ = file.Close() }, writeOwner(file, owner) // closing lets go of it
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("lock the node: %w", err), file.Close())
		}
		locked := &LockedError{Owner: readOwner(file), Waited: time.Since(began)}
		if locked.Waited >= limit {
			return nil, errors.Join(locked, file.Close())
		}
		if waiting != nil && time.Since(told) > 30*time.Second {
			told = time.Now()
			waiting(locked)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-ticker.C:
		}
	}
}

func writeOwner(file *os.File, owner Owner) error {
	owner.PID, owner.Since = os.Getpid(), time.Now().UTC()
	owner.Host, _ = os.Hostname() // it is only told
	text, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("encode the owner of the lock: %w", err)
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("write the owner of the lock: %w", err)
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		return fmt.Errorf("write the owner of the lock: %w", err)
	}
	return nil
}

// readOwner is empty while the owner is just being written.
func readOwner(file *os.File) Owner {
	var owner Owner
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 4<<10))
	if err != nil || json.Unmarshal(text, &owner) != nil {
		return Owner{}
	}
	return owner
}
