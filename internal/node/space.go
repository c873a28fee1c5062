// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

const (
	littleSpace = 2 << 30   // bytes
	noSpace     = 256 << 20 // bytes: jobs cannot write their files
	// fileSystemLimit bounds the wait for a file system: one of a dead NFS server never answers.
	fileSystemLimit = 5 * time.Second
)

// space is what is left of a file system.
type space struct {
	path       string
	free       uint64 // bytes, for users
	inodes     uint64 // 0 where the file system has no fixed number
	freeInodes uint64
	readOnly   bool
	err        error
}

// readSpace looks at the places that jobs write to.
func readSpace(ctx context.Context, mounts []string) []space {
	paths := []string{"/", os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, home)
	}
	var all []space
	seen := map[unix.Fsid]bool{}
	for _, path := range append(paths, mounts...) {
		status, err := within(ctx, fileSystemLimit, func() (unix.Statfs_t, error) {
			var status unix.Statfs_t
			return status, unix.Statfs(path, &status)
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue // mounts tells
		}
		if err == nil && status.Fsid != (unix.Fsid{}) && seen[status.Fsid] {
			continue
		}
		seen[status.Fsid] = true
		all = append(all, space{
			path: path, free: status.Bavail * uint64(max(0, status.Bsize)), inodes: status.Files, freeInodes: status.Ffree,
			readOnly: status.Flags&unix.ST_RDONLY != 0, err: err,
		})
	}
	return all
}

func checkSpace(f findings) job.Check {
	parts := []part{}
	for _, s := range f.space {
		parts = append(parts, part{s.path, judgeSpace(s)})
	}
	return combine("free_space", "there is room on every file system that jobs use", parts)
}

func judgeSpace(s space) verdict {
	gib := float64(s.free) / (1 << 30)
	switch {
	case errors.Is(s.err, context.DeadlineExceeded):
		return verdict{job.Fail, fmt.Sprintf("the file system does not answer within %s", fileSystemLimit), "look at its server and the network to it: findmnt; or reboot the node"}
	case s.err != nil:
		return verdict{job.CannotTell, s.err.Error(), ""}
	case s.readOnly:
		return verdict{job.Fail, "the file system is read-only", "on the node: sudo dmesg, for errors of the drive; then reboot the node, or replace it"}
	case s.free < noSpace:
		return verdict{job.Fail, fmt.Sprintf("%.2f GiB free", gib), ""}
	case s.inodes > 0 && s.freeInodes == 0:
		return verdict{job.Fail, "no inode is free", ""}
	case s.free < littleSpace:
		return verdict{job.Warn, fmt.Sprintf("%.2f GiB free", gib), ""}
	case s.inodes > 0 && s.freeInodes < s.inodes/100:
		return verdict{job.Warn, fmt.Sprintf("%d of %d inodes free", s.freeInodes, s.inodes), ""}
	}
	return pass
}
