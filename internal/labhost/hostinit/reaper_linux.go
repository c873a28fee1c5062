// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// reaper starts processes and reaps every child of PID 1, its own and the orphans. os/exec cannot be
// used beside it: both would wait for the same processes.
type reaper struct {
	mu       sync.Mutex
	children map[int]*child
}

// child is a process that the reaper started.
type child struct {
	pid    int
	done   chan struct{} // closed when the process has ended
	status syscall.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{children: map[int]*child{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			r.reap()
		}
	}()
	return r
}

func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		if c := r.children[pid]; c != nil {
			delete(r.children, pid)
			c.status = status
			close(c.done)
		}
	}
}

// start runs argv as root in a session of its own, with a clean environment. A nil stdin is empty.
func (r *reaper) start(argv []string, stdin, stdout, stderr *os.File) (*child, error) {
	if stdin == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", argv[0], err)
		}
		defer func() { _ = null.Close() }()
		stdin = null
	}
	runtime.LockOSThread() // Capabilities and namespaces belong to a thread; a child has those of the one that starts it.
	defer runtime.UnlockOSThread()
	if err := errors.Join(dropCapabilities(), enterCgroupNamespace()); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	r.mu.Lock() // The process must be known before it is reaped.
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=" + Path, "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "LANG=C.UTF-8"},
		Files: []uintptr{stdin.Fd(), stdout.Fd(), stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	c := &child{pid: pid, done: make(chan struct{})}
	r.children[pid] = c
	return c, nil
}

// exitStatus of a child that has ended, as a shell gives it.
func (c *child) exitStatus() int {
	if c.status.Signaled() {
		return 128 + int(c.status.Signal())
	}
	return c.status.ExitStatus()
}
