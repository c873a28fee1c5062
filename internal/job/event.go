// SPDX-License-Identifier: MPL-2.0

package job

import "time"

// EventType says what an event reports.
type EventType string

// Event types. A stream starts with EventStarted and ends with EventResult.
const (
	EventStarted       EventType = "started"
	EventPhaseStarted  EventType = "phase_started"
	EventPhaseFinished EventType = "phase_finished"
	EventNode          EventType = "node"   // something about one node
	EventStep          EventType = "step"   // a step of a node's set-up is over
	EventOutput        EventType = "output" // a line that a program printed
	EventResult        EventType = "result"
)

// Phase of a job, in order.
type Phase string

// Phases.
const (
	PhaseConnect   Phase = "connect"   // reach every node, put the runner there
	PhaseSetUp     Phase = "set_up"    // the steps of the set-up, all nodes in parallel
	PhaseCheck     Phase = "check"     // facts and checks, all nodes in parallel
	PhasePrepare   Phase = "prepare"   // containers for the ranks, and nccl-tests that are built
	PhaseEachNode  Phase = "each_node" // nccl-tests on each node alone
	PhaseAllNodes  Phase = "all_nodes" // nccl-tests over all nodes
	PhaseLocalise  Phase = "localise"  // nccl-tests over groups of nodes, to find the culprit
	PhaseTune      Phase = "tune"      // nccl-tests with other settings
	PhaseFinishing Phase = "finishing" // close connections, write the result
)

// Event is one line of the NDJSON stream.
type Event struct {
	Time  time.Time `json:"time"`
	Type  EventType `json:"type"`
	Phase Phase     `json:"phase,omitempty"`
	// Node is the name of the node that the event is about, if it is about one.
	Node    string  `json:"node,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	Message string  `json:"message,omitempty"`
	// Step is what came of it, for EventStep.
	Step *StepResult `json:"step,omitempty"`
	// Done and Total count nodes or rows within the phase, or steps of the node's set-up.
	Done   int     `json:"done,omitempty"`
	Total  int     `json:"total,omitempty"`
	Result *Result `json:"result,omitempty"`
}
