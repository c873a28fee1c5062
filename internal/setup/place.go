// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Place is where something is, and whose.
type Place struct {
	Path string
	Mode fs.FileMode // permissions, and fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky
	// Owner is user or user:group; a user alone stands for the user's own group, too. Empty is root.
	Owner string
}

// ParseMode reads an octal mode such as 0644 or 1777.
func ParseMode(octal string) (fs.FileMode, error) {
	bits, err := strconv.ParseUint(octal, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q is not octal such as 0644", octal)
	}
	mode := fs.FileMode(bits & 0o777)
	for bit, flag := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode, nil
}

// modeBits are those that a place speaks of.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// ids gives the owner in numbers.
func (p Place) ids() (uid, gid int, err error) {
	if p.Owner == "" {
		return 0, 0, nil
	}
	name, group, both := strings.Cut(p.Owner, ":")
	owner, err := user.Lookup(name)
	if err != nil {
		return 0, 0, Advise(fmt.Errorf("find the user %s: %w", name, err), "add the user to the node, or name another owner")
	}
	gidText := owner.Gid
	if both {
		found, err := user.LookupGroup(group)
		if err != nil {
			return 0, 0, Advise(fmt.Errorf("find the group %s: %w", group, err), "add the group to the node, or name another")
		}
		gidText = found.Gid
	}
	uid, err = strconv.Atoi(owner.Uid)
	if err != nil {
		return 0, 0, fmt.Errorf("user id of %s: %w", name, err)
	}
	gid, err = strconv.Atoi(gidText)
	if err != nil {
		return 0, 0, fmt.Errorf("group id of %s: %w", p.Owner, err)
	}
	return uid, gid, nil
}

// differences says how mode and owner of what is there differ from those wanted.
func (p Place) differences(info fs.FileInfo) ([]string, error) {
	uid, gid, err := p.ids()
	if err != nil {
		return nil, err
	}
	var differ []string
	if is := info.Mode() & modeBits; is != p.Mode&modeBits {
		differ = append(differ, fmt.Sprintf("mode is %s, not %s", octal(is), octal(p.Mode)))
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && (int(stat.Uid) != uid || int(stat.Gid) != gid) {
		differ = append(differ, fmt.Sprintf("owner is %d:%d, not %d:%d", stat.Uid, stat.Gid, uid, gid))
	}
	return differ, nil
}

func octal(mode fs.FileMode) string {
	bits := uint32(mode.Perm())
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return fmt.Sprintf("%04o", bits)
}

// give sets owner and mode, in this order: a change of owner takes set-user-ID bits away.
func (p Place) give(file *os.File) error {
	uid, gid, err := p.ids()
	if err != nil {
		return err
	}
	if err := file.Chown(uid, gid); err != nil {
		return err
	}
	return file.Chmod(p.Mode & modeBits)
}

// temporary is the name of a file beside the wanted one. It is always the same, so that what a killed set-up left
// is replaced by the next.
func (p Place) temporary() string {
	return filepath.Join(filepath.Dir(p.Path), ".ocihpc-"+filepath.Base(p.Path))
}

// Replace puts a file there: whole, on the disk, with its owner and mode, or not at all. write gives its content.
func (p Place) Replace(write func(io.Writer) error) (err error) {
	temporary := p.temporary()
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600) // #nosec G304 -- beside the path that was asked for
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary) // the error is the one to tell
		}
	}()
	if err = write(file); err == nil {
		err = p.give(file)
	}
	return p.keep(file, err)
}

// keep closes the temporary file and puts it in its place, unless there was an error before.
func (p Place) keep(file *os.File, err error) error {
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), p.Path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(p.Path))
	}
	return err
}

// syncDir puts the names in a directory onto the disk.
func syncDir(dir string) error {
	handle, err := os.Open(dir) // #nosec G304 -- the directory of a path that was asked for
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}
