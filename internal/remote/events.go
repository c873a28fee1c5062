// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// eventLimit bounds one event, in bytes. The result of a large cluster is the largest.
const eventLimit = 64 << 20

// eventStream takes NDJSON events apart as they arrive.
type eventStream struct {
	handle   func(job.Event)
	consumed int64 // bytes of the complete lines handled so far
	partial  []byte
}

// restart forgets the line that a lost connection cut off: it comes again.
func (s *eventStream) restart() { s.partial = nil }

func (s *eventStream) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, complete := bytes.Cut(rest, []byte("\n"))
		if len(s.partial)+len(part) > eventLimit {
			return 0, fmt.Errorf("an event is longer than %d bytes", eventLimit)
		}
		s.partial = append(s.partial, part...)
		if !complete {
			break
		}
		var event job.Event
		if err := json.Unmarshal(s.partial, &event); err != nil {
			return 0, fmt.Errorf("event at byte %d: %.200q: %w", s.consumed, s.partial, err)
		}
		s.consumed += int64(len(s.partial)) + 1
		s.partial = nil
		s.handle(event)
		rest = after
	}
	return len(p), nil
}
