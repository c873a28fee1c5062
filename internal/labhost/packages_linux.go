// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// copyPackages tells hosts what of the machine's packages they have: all but those of without, whose files they
// do not see either. A package that depends on a hidden one should be hidden, too: apt would miss it.
func (l layers) copyPackages(without []string) error {
	own := filepath.Join(l.base, dpkgDir)
	status, err := os.ReadFile(filepath.Join("/", dpkgDir, "status"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a machine without dpkg
	}
	if err != nil {
		return err
	}
	kept, hidden := splitStatus(string(status), without)
	if err := os.WriteFile(filepath.Join(own, "status"), []byte(kept), 0o644); err != nil { // #nosec G306 -- as dpkg's
		return err
	}
	for _, name := range []string{"lock", "lock-frontend", "triggers/Lock"} { // the machine's are its root's alone
		if err := os.WriteFile(filepath.Join(own, name), nil, 0o640); err != nil { // #nosec G306 -- as dpkg's
			return err
		}
	}
	for _, name := range hidden {
		if err := l.hidePackage(name); err != nil {
			return err
		}
	}
	return nil
}

// splitStatus takes packages out of a text like dpkg's status. It gives the rest, and which there were.
func splitStatus(status string, without []string) (kept string, hidden []string) {
	var rest strings.Builder
	for stanza := range strings.SplitAfterSeq(status, "\n\n") {
		first, _, _ := strings.Cut(stanza, "\n")
		name, found := strings.CutPrefix(first, "Package: ")
		if found && slices.Contains(without, name) {
			hidden = append(hidden, name)
			continue
		}
		rest.WriteString(stanza)
	}
	return rest.String(), hidden
}

// hidePackage hides an installed package's files, and what dpkg knows of it.
func (l layers) hidePackage(name string) error {
	info := filepath.Join("/", dpkgDir, "info")
	entries, err := os.ReadDir(info)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		kind := infoKind(entry.Name(), name)
		if kind == "" {
			continue
		}
		path := filepath.Join(info, entry.Name())
		if kind == "list" {
			if err := l.hideFiles(path); err != nil {
				return err
			}
		}
		if err := l.hide(path); err != nil {
			return err
		}
	}
	return nil
}

// infoKind gives what a file of dpkg's database says of a package, such as "list"; empty where it is
// another's. It is called docker.io.list, or libc6:amd64.list where several architectures may be installed.
func infoKind(file, name string) string {
	rest, found := strings.CutPrefix(file, name)
	if !found {
		return ""
	}
	if _, kind, ok := strings.Cut(rest, "."); ok && (rest[0] == ':' || rest[0] == '.') {
		return kind
	}
	return ""
}

// hideFiles hides the files that a list of dpkg names.
func (l layers) hideFiles(list string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if err := l.hide(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// hide hides a file of the machine from the hosts. Directories stay: others may have files there.
func (l layers) hide(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.IsDir()) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // /bin is /usr/bin
	if err != nil {
		return err
	}
	if dir == "/etc" || strings.HasPrefix(dir, "/etc/") {
		return os.RemoveAll(filepath.Join(l.base, dir, filepath.Base(path)))
	}
	if !slices.ContainsFunc(machineDirs, func(shown string) bool { return strings.HasPrefix(dir+"/", "/"+shown+"/") }) {
		return nil
	}
	if err := l.makeParents(dir); err != nil {
		return err
	}
	// A whiteout: in a layer of an overlay, it says that the layers below have no such file.
	err = unix.Mknod(filepath.Join(l.base, dir, filepath.Base(path)), unix.S_IFCHR, 0)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// makeParents makes directories of the machine in the template, which hosts see with the template's mode.
func (l layers) makeParents(dir string) error {
	target := filepath.Join(l.base, dir)
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if err := l.makeParents(filepath.Dir(dir)); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(target, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chmod(target, info.Mode())
}
