// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"syscall"
)

// maxMessageBytes bounds a request; Linux bounds an argument vector at 2 MiB by default.
const maxMessageBytes = 2 << 20

// WriteWithFiles sends one message and file descriptors over a Unix socket.
func WriteWithFiles(conn *net.UnixConn, message any, files ...*os.File) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	descriptors := make([]int, 0, len(files))
	for _, file := range files {
		descriptors = append(descriptors, int(file.Fd())) // #nosec G115 -- descriptors are small
	}
	var rights []byte
	if len(descriptors) > 0 {
		rights = syscall.UnixRights(descriptors...)
	}
	text = append(text, '\n')
	n, _, err := conn.WriteMsgUnix(text, rights, nil)
	if err == nil && n < len(text) {
		_, err = conn.Write(text[n:])
	}
	if err != nil {
		return fmt.Errorf("send a request: %w", err)
	}
	return nil
}

// ReadWithFiles receives what [WriteWithFiles] sent. The caller closes the files, also after an error.
func ReadWithFiles(conn *net.UnixConn, message any) ([]*os.File, error) {
	var files []*os.File
	var text []byte
	buffer, rights := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(3*4))
	for {
		n, rightsN, _, _, err := conn.ReadMsgUnix(buffer, rights)
		if err != nil {
			return files, fmt.Errorf("receive a request: %w", err)
		}
		received, err := parseRights(rights[:rightsN])
		files = append(files, received...)
		if err != nil {
			return files, err
		}
		text = append(text, buffer[:n]...)
		if n == 0 || bytes.IndexByte(text, '\n') >= 0 {
			break
		}
		if len(text) > maxMessageBytes {
			return files, fmt.Errorf("receive a request: it is longer than %d bytes", maxMessageBytes)
		}
	}
	if err := json.Unmarshal(text, message); err != nil {
		return files, fmt.Errorf("decode a request: %w", err)
	}
	return files, nil
}

func parseRights(rights []byte) ([]*os.File, error) {
	if len(rights) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("receive file descriptors: %w", err)
	}
	var files []*os.File
	for _, message := range messages {
		descriptors, err := syscall.ParseUnixRights(&message)
		if err != nil {
			return files, fmt.Errorf("receive file descriptors: %w", err)
		}
		for _, descriptor := range descriptors {
			syscall.CloseOnExec(descriptor)
			files = append(files, os.NewFile(uintptr(descriptor), "passed")) // #nosec G115 -- descriptors are small
		}
	}
	return files, nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// mustJSON encodes one of this package's own messages.
func mustJSON(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil { // They hold only types that always encode.
		panic(err)
	}
	return append(text, '\n')
}
