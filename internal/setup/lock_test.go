// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLockTellsItsOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run", "lock")
	release, err := Lock(t.Context(), path, Owner{Key: "abc", User: "opc", From: "gpu-1"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	_, err = Lock(t.Context(), path, Owner{Key: "def"}, 300*time.Millisecond, func(*LockedError) { heard++ })
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Owner.Key != "abc" || locked.Owner.PID == 0 || heard != 1 {
		t.Fatalf("%v, heard %d", err, heard)
	}
	for _, part := range []string{"job abc", "by opc from gpu-1", "since 0 s"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in %v", part, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path, Owner{}, time.Hour, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	release()
	release, err = Lock(t.Context(), path, Owner{Key: "def"}, 0, nil)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	release()
}

func TestLockIsForOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var inside, met atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			release, err := Lock(t.Context(), path, Owner{}, time.Minute, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) > 1 {
				met.Add(1)
			}
			inside.Add(-1)
			release()
		})
	}
	all.Wait()
	if met.Load() > 0 {
		t.Error("two were inside")
	}
}
