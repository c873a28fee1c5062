// SPDX-License-Identifier: MPL-2.0

package container

import (
	"strings"
	"testing"
)

// Settings of a user that were merged are in place, and nothing else of the file is lost.
func FuzzUserSettings(f *testing.F) {
	f.Add("debug = true\ncdi_spec_dirs = [\"/x\"]\n[table]\ncdi_spec_dirs = 1\n")
	f.Add("\n[[x]]\n=")
	f.Fuzz(func(t *testing.T, text string) {
		settings := userSettings{user: &account{home: "/home/x"}, file: "nerdctl.toml", keys: map[string][]string{"cdi_spec_dirs": {"/etc/cdi"}}}
		once := settings.merge(text)
		if again := settings.merge(once); again != once {
			t.Errorf("%q becomes %q, then %q", text, once, again)
		}
		if _, table, found := strings.Cut(text, "\n["); found && !strings.Contains(table, "cdi_spec_dirs") && !strings.HasSuffix(once, table) {
			t.Errorf("%q lost its table: %q", text, once)
		}
	})
}

func FuzzMountOf(f *testing.F) {
	f.Add(mounts, "/home/usera")
	f.Add("1 2 3 4 / - ext4", "/")
	f.Fuzz(func(t *testing.T, mountinfo, path string) {
		if on := mountOf(mountinfo, path); on.point != "/" && on.point != "" && path != on.point && !strings.HasPrefix(path, on.point+"/") {
			t.Errorf("%q is not on %+v", path, on)
		}
	})
}

func FuzzReference(f *testing.F) {
	for _, image := range []string{"busybox", "team/app:1", "localhost/x@sha256:ab", "nvcr.io:443/a/b:c"} {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image string) {
		if long := longReference(image); !strings.Contains(long, "/") || strings.Contains(withoutTag(long), "@") {
			t.Errorf("%q is %q", image, long)
		}
		hasLogin([]byte(image), image)
	})
}
