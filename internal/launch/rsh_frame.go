// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The rsh protocol: the client sends one JSON line, a request, and keeps its side open for as long as it
// wants the command to run. The server answers with frames: one byte of kind, four of length (big endian),
// and the payload. The last frame is an exit frame, whose payload is the status as one byte.
type request struct {
	Host string `json:"host"`
	// Line is for the login shell of the host, as with ssh.
	Line string `json:"line"`
}

type frameKind byte

const (
	frameStdout frameKind = 1
	frameStderr frameKind = 2
	frameExit   frameKind = 3
)

// Limits of what either side takes from the other, in bytes.
const (
	maxFrame   = 1 << 20
	maxRequest = 1 << 20
)

var errFrame = errors.New("not a frame of the rsh protocol")

func writeFrame(w io.Writer, kind frameKind, payload []byte) error {
	frame := make([]byte, 5, 5+len(payload))
	frame[0] = byte(kind)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(payload))) // #nosec G115 -- at most maxFrame
	_, err := w.Write(append(frame, payload...))
	return err
}

func readFrame(r io.Reader) (frameKind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	kind, size := frameKind(head[0]), binary.BigEndian.Uint32(head[1:])
	if kind < frameStdout || kind > frameExit || size > maxFrame || (kind == frameExit && size != 1) {
		return 0, nil, fmt.Errorf("%w: kind %d, %d bytes", errFrame, kind, size)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("%w: cut short: %w", errFrame, err)
	}
	return kind, payload, nil
}

func readRequest(r io.Reader) (request, error) {
	var asked request
	// A decoder reads no more than the client sends before it waits for the answer.
	if err := json.NewDecoder(io.LimitReader(r, maxRequest)).Decode(&asked); err != nil {
		return request{}, fmt.Errorf("read request: %w", err)
	}
	if asked.Host == "" || asked.Line == "" {
		return request{}, errors.New("read request: host or command is missing")
	}
	return asked, nil
}

// frameWriter writes frames of one kind; the lock is shared by all writers of a connection.
type frameWriter struct {
	kind frameKind
	to   io.Writer
	lock *sync.Mutex
}

func (w frameWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for written := 0; written < len(p); {
		part := p[written:min(len(p), written+maxFrame)]
		if err := writeFrame(w.to, w.kind, part); err != nil {
			return written, err
		}
		written += len(part)
	}
	return len(p), nil
}
