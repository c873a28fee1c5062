// SPDX-License-Identifier: MPL-2.0

package container

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

func TestJSONFile(t *testing.T) {
	t.Parallel()
	step := jsonFile{path: filepath.Join(t.TempDir(), "daemon.json"),
		set: map[string]any{"features": map[string]any{"cdi": true}, "data-root": "/data"}, unlessSet: map[string]any{"live-restore": true}}
	for present, want := range map[string]string{
		``: `{"features":{"cdi":true},"data-root":"/data","live-restore":true}`,
		`{"features":{"buildkit":false},"dns":["10.0.0.2"],"live-restore":false,"data-root":"/old"}`: `{"features":{"buildkit":false,"cdi":true},"dns":["10.0.0.2"],"live-restore":false,"data-root":"/data"}`,
	} {
		if present != "" {
			if err := os.WriteFile(step.path, []byte(present), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if state, err := step.Check(t.Context()); err != nil || state.Done {
			t.Errorf("%s: %+v, %v", present, state, err)
		}
		if err := step.Apply(t.Context(), io.Discard); err != nil {
			t.Fatal(err)
		}
		if state, err := step.Check(t.Context()); err != nil || !state.Done {
			t.Errorf("%s, applied: %+v, %v", present, state, err)
		}
		text, _ := os.ReadFile(step.path)
		var got, wanted map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s became %s", present, text)
		}
		if err := os.Remove(step.path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(step.path, []byte("{not json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := step.Check(t.Context()); err == nil || setup.AdviceOf(err) == "" {
		t.Errorf("a broken file gives %v", err)
	}
}

func TestUserSettingsMerge(t *testing.T) {
	t.Parallel()
	u := userSettings{keys: map[string][]string{"cdi_spec_dirs": {"/etc/cdi", "/var/run/cdi"}, "data_root": {"/d"}}}
	const set = "cdi_spec_dirs = [\"/etc/cdi\", \"/var/run/cdi\"]\ndata_root = \"/d\"\n"
	for present, want := range map[string]string{
		"":                                     set,
		"debug = true\ndata_root = \"/old\"\n": set + "debug = true\n",
		"[table]\ndata_root = \"its own\"\n":   set + "[table]\ndata_root = \"its own\"\n",
	} {
		got := u.merge(present)
		if got != want || u.merge(got) != got {
			t.Errorf("%q became %q", present, got)
		}
	}
}

func TestCDINames(t *testing.T) {
	t.Parallel()
	const yaml = "cdiVersion: 0.5.0\ndevices:\n- containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n  name: \"0\"\n- name: all\nkind: nvidia.com/gpu\n"
	const jsonText = "{\"devices\": [{\n\"name\": \"0\",\n\"containerEdits\": {}},{\n\"name\": \"all\"\n}]}"
	for _, spec := range []string{yaml, jsonText} {
		if !cdiNames(spec, "0") || !cdiNames(spec, "all") || cdiNames(spec, "1") || cdiNames(spec, "a") {
			t.Errorf("names of %s", spec)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for short, long := range map[string]string{
		"busybox":                 "docker.io/library/busybox:latest",
		"library/busybox:1":       "docker.io/library/busybox:1",
		"localhost:5000/x":        "localhost:5000/x:latest",
		"nvcr.io/nvidia/base:1.0": "nvcr.io/nvidia/base:1.0",
		"10.0.0.1:5000/a/b@sha256:" + strings.Repeat("0", 64): "10.0.0.1:5000/a/b@sha256:" + strings.Repeat("0", 64),
	} {
		if got := longReference(short); got != long {
			t.Errorf("%s is %s", short, got)
		}
	}
	if got := withoutTag("localhost:5000/x:1@sha256:00"); got != "localhost:5000/x" {
		t.Error(got)
	}
}

func TestUpstream(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"5:28.5.1-1~ubuntu.22.04~jammy": "28.5.1", "1.18.2-1": "1.18.2", "20.10.24+dfsg1-1+deb12u1": "20.10.24", "4.3.1": "4.3.1",
	} {
		if got := upstream(version); got != want {
			t.Errorf("%s is %s", version, got)
		}
	}
}

func TestPresentIn(t *testing.T) {
	t.Parallel()
	const text = "installed podman\ntriggers-pending man-db\nconfig-files gone\nnot-installed never\nhalf-configured conmon\ninstalled libc6\ninstalled libc6\n"
	if got := strings.Join(presentIn(text), " "); got != "conmon libc6 man-db podman" {
		t.Errorf("present are %s", got)
	}
}

func TestHasLogin(t *testing.T) {
	t.Parallel()
	for auth, want := range map[string]string{
		`{"auths": {"registry.example.com": {}}}`:                  "registry.example.com/a/b:1",
		`{"auths": {"https://registry.example.com:5000/v2/": {}}}`: "registry.example.com:5000/a",
		`{"auths": {"https://index.docker.io/v1/": {}}}`:           "busybox team/image docker.io/library/busybox",
		`{"auths": {}}`: "",
	} {
		var got []string
		for _, image := range []string{"registry.example.com/a/b:1", "registry.example.com:5000/a", "busybox", "team/image", "docker.io/library/busybox"} {
			if hasLogin([]byte(auth), image) {
				got = append(got, image)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has logins for %v", auth, got)
		}
	}
}
