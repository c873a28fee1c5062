// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// programs are found before the system's own, by their scripts.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// What a node's programs say when it is in a trap; the answers are those of the real ones.
func TestTrapsOfPrograms(t *testing.T) {
	own := &account{name: "usera", uid: 4294967, gid: 4294967} // has no session
	engine := func(want job.Engine) func(context.Context) error {
		return (&plan{want: job.ContainerRuntime{Engine: want}, record: &Record{}}).otherEngine
	}
	apply := func(step setup.Step) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			return step.Apply(ctx, io.Discard)
		}
	}
	record, err := readRecord(filepath.Join(t.TempDir(), "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	nowhere := nodeWith(t, nil)
	const running = "echo ActiveState=active; echo FragmentPath=/usr/lib/systemd/system/containerd.service"
	for _, c := range []struct {
		name         string
		programs     map[string]string
		look         func(context.Context) error
		is           error
		says, advice string
	}{
		{"another containerd", map[string]string{"systemctl": running}, engine(job.Containerd), ErrTrap,
			"another containerd runs already (/usr/lib/systemd/system/containerd.service)", "engine = docker"},
		{"another containerd, for Docker", map[string]string{"systemctl": running}, engine(job.Docker), nil, "", ""},
		{"our containerd", map[string]string{"systemctl": strings.Replace(running, "/usr/lib", "/etc", 1)}, engine(job.Containerd), nil, "", ""},
		{"containerd that is off", map[string]string{"systemctl": strings.Replace(running, "=active", "=inactive", 1)}, engine(job.Containerd), nil, "", ""},
		{"memlock too small for RDMA", map[string]string{"systemctl": "echo 1", "prlimit": "echo 'prlimit: failed to set the MEMLOCK resource limit: Operation not permitted' >&2; exit 1"},
			apply(managerLimits{own}), ErrTrap, "usera's containers may lock too little memory for RDMA: prlimit ended with exit status 1: prlimit: failed to set the MEMLOCK", "reboot the node"},
		{"no systemd of the user", map[string]string{"systemctl": "echo 0"}, apply(managerLimits{own}), ErrNoSession, "user@4294967.service does not run", ""},
		{"user switched by su", map[string]string{"systemctl": "", "loginctl": ""}, apply(linger{own, record}), ErrNoSession,
			"usera has no /run/user/4294967/bus", "log in as usera by SSH: su and sudo give no session"},
		{"no NVIDIA driver", nil, nowhere.driver, ErrTrap, "there is no NVIDIA driver: nvidia-smi is not installed", "OCI's GPU images"},
		{"containers that run", map[string]string{"podman": "echo 1a2b; echo 3c4d"}, (&plan{want: job.ContainerRuntime{Engine: job.Podman, Remove: true}, record: &Record{Engine: job.Podman}}).noContainers, ErrTrap,
			"2 containers run with podman", "stop them first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			programs(t, c.programs)
			usual := programDirs
			programDirs = filepath.SplitList(os.Getenv("PATH"))[:1]
			t.Cleanup(func() { programDirs = usual })
			err := c.look(t.Context())
			if c.says == "" {
				if err != nil {
					t.Errorf("trapped without reason: %v", err)
				}
				return
			}
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(setup.AdviceOf(err), c.advice) {
				t.Errorf("says %v; advice: %s", err, setup.AdviceOf(err))
			}
		})
	}
}
