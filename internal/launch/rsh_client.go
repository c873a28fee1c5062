// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// SocketVariable names the environment variable with the path of the job's [Agent].
const SocketVariable = "OCIHPC_RSH_SOCKET"

// Rsh asks the agent at the socket to run a line on a host, and gives its exit status. The end of the
// context ends the command.
func Rsh(ctx context.Context, socket, host, line string, stdout, stderr io.Writer) (int, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return statusUnreachable, fmt.Errorf("reach the running job: %w", err)
	}
	defer conn.Close() //nolint:errcheck // everything was read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(request{Host: host, Line: line}); err != nil {
		return statusUnreachable, fmt.Errorf("ask the running job: %w", err)
	}
	status, err := relay(bufio.NewReader(conn), stdout, stderr)
	if ctx.Err() != nil {
		return statusUnreachable, context.Cause(ctx)
	}
	return status, err
}

// relay copies frames to where they belong until the exit frame.
func relay(from io.Reader, stdout, stderr io.Writer) (int, error) {
	for {
		kind, payload, err := readFrame(from)
		if errors.Is(err, io.EOF) {
			return statusUnreachable, errors.New("the running job has gone")
		}
		if err != nil {
			return statusUnreachable, fmt.Errorf("read the running job's answer: %w", err)
		}
		switch kind {
		case frameStdout:
			_, err = stdout.Write(payload)
		case frameStderr:
			_, err = stderr.Write(payload)
		case frameExit:
			return int(payload[0]), nil
		}
		if err != nil {
			return statusUnreachable, fmt.Errorf("pass on output: %w", err)
		}
	}
}
