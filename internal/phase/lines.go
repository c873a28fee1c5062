// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"io"
	"sync"
)

// maxLine is how much of an unfinished line is held back, in bytes.
const maxLine = 64 << 10

// lineMerger makes one text of several streams without tearing their lines apart.
type lineMerger struct {
	lock    sync.Mutex
	to      io.Writer
	streams []*lineStream
}

type lineStream struct {
	merger *lineMerger
	held   []byte
}

func newLineMerger(to io.Writer) *lineMerger { return &lineMerger{to: to} }

func (m *lineMerger) stream() io.Writer {
	s := &lineStream{merger: m}
	m.streams = append(m.streams, s)
	return s
}

func (s *lineStream) Write(p []byte) (int, error) {
	s.merger.lock.Lock()
	defer s.merger.lock.Unlock()
	s.held = append(s.held, p...)
	end := bytes.LastIndexByte(s.held, '\n') + 1
	if end == 0 && len(s.held) > maxLine {
		end = len(s.held)
	}
	if end == 0 {
		return len(p), nil
	}
	if _, err := s.merger.to.Write(s.held[:end]); err != nil {
		return 0, err
	}
	s.held = append(s.held[:0], s.held[end:]...)
	return len(p), nil
}

// flush writes the unfinished lines that are left.
func (m *lineMerger) flush() {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, s := range m.streams {
		_, _ = m.to.Write(s.held) // the log may be out of space; the run has ended already
		s.held = nil
	}
}
