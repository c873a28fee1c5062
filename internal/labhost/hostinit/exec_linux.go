// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// serveExec runs the commands that the lab asks for.
func serveExec(listener net.Listener, children *reaper) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			status, err := execOne(conn.(*net.UnixConn), children)
			_, _ = conn.Write(mustJSON(ExecReply{Status: status, Error: errorText(err)})) // The asker may be gone.
		}()
	}
}

// execOne runs one command; an asker who hangs up ends it.
func execOne(conn *net.UnixConn, children *reaper) (int, error) {
	var request ExecRequest
	files, err := ReadWithFiles(conn, &request)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	if err != nil {
		return 0, err
	}
	if len(files) != 3 || len(request.Argv) == 0 {
		return 0, errors.New("a command needs an argument vector and three file descriptors")
	}
	program, err := exec.LookPath(request.Argv[0])
	if err != nil {
		return 0, fmt.Errorf("find the program: %w", err)
	}
	command, err := children.start(append([]string{program}, request.Argv[1:]...), files[0], files[1], files[2])
	if err != nil {
		return 0, err
	}
	hungUp := make(chan struct{})
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // An asker sends nothing more.
		close(hungUp)
	}()
	select {
	case <-command.done:
	case <-hungUp:
		_ = syscall.Kill(-command.pid, syscall.SIGKILL)
		<-command.done
	}
	return command.exitStatus(), nil
}

// Exec sends a request to whoever serves requests on conn, with three file descriptors, and waits for
// the reply. The end of ctx ends the command.
func Exec(ctx context.Context, conn *net.UnixConn, request any, stdin, stdout, stderr *os.File) (int, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := WriteWithFiles(conn, request, stdin, stdout, stderr); err != nil {
		return 0, err
	}
	var reply ExecReply
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("wait for the command: %w", ctx.Err())
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the host is gone")
		}
		return 0, fmt.Errorf("wait for the command: %w", err)
	}
	if reply.Error != "" {
		return 0, errors.New(reply.Error)
	}
	return reply.Status, nil
}
