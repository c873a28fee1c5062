// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
)

// standIn speaks the runner's side of the contract; what happens in the job is up to the test, which writes
// the events and the exit file.
const standIn = `#!/bin/sh
set -eu
dir=$2
case $1 in
start)
	if [ -e "$dir/exit" ]; then echo '{"state":"finished"}'
	elif [ -e "$dir/pid" ]; then echo '{"state":"running"}'
	else echo 1 > "$dir/pid"; : >> "$dir/events.ndjson"; echo '{"state":"started"}'; fi;;
attach)
	[ "$3" = --from ]
	from=$4
	echo "$from" >> "$dir/attached"
	while :; do
		if [ -e "$dir/exit" ]; then over=yes; else over=no; fi
		size=$(wc -c < "$dir/events.ndjson")
		if [ "$size" -gt "$from" ]; then
			tail -c +$((from + 1)) "$dir/events.ndjson" | head -c $((size - from))
			from=$size
		elif [ $over = yes ]; then exit 0; fi
		sleep 0.01
	done;;
cancel) echo 130 > "$dir/exit";;
esac
`

// stage is a cluster behind a bastion and a job for it.
type stage struct {
	t       *testing.T
	bastion *sshdtest.Host
	proxy   *sshdtest.Proxy // before the bastion
	nodes   []*sshdtest.Host
	access  Access
	job     job.Job
	runner  string

	lock   sync.Mutex
	events []job.Event
}

func newStage(t *testing.T, nodes int) *stage {
	t.Helper()
	signer, _ := sshdtest.NewKey(t)
	keys := []ssh.PublicKey{signer.PublicKey()}
	s := &stage{t: t, bastion: sshdtest.Start(t, keys), runner: standIn}
	s.proxy = sshdtest.NewProxy(t, s.bastion)
	bastion := target(s.bastion, "bastion", signer)
	bastion.Address = s.proxy.Address
	s.job = job.Job{Version: job.Version, TimeoutSeconds: 3600}
	for i := range nodes {
		h := sshdtest.Start(t, keys)
		s.nodes = append(s.nodes, h)
		s.job.Nodes = append(s.job.Nodes, job.Node{ID: fmt.Sprintf("ocid1.instance.%d", i), Name: fmt.Sprintf("gpu-%d", i), Address: h.Address})
	}
	s.access = Access{
		User: s.nodes[0].User, Port: s.nodes[0].Port, Signers: []ssh.Signer{signer}, Bastion: &bastion, KeepAlive: time.Minute,
	}
	return s
}

// file is a path in the job's directory on the head node.
func (s *stage) file(path func(job.Dir) string) string {
	return filepath.Join(s.nodes[0].Home, path(job.DirOf(s.key())))
}

// key is what the job's key must be: that of the job with all host keys.
func (s *stage) key() string {
	j := s.job
	j.Nodes = slices.Clone(j.Nodes)
	for i, h := range s.nodes {
		j.Nodes[i].HostKey = h.HostKey()
	}
	return j.Key()
}

func (s *stage) runners(string) ([]byte, string, error) {
	return []byte(s.runner), sha256Hex([]byte(s.runner)), nil
}

// execute starts Execute and gives what it ends with.
func (s *stage) execute(ctx context.Context) func() (Outcome, error) {
	type end struct {
		outcome Outcome
		err     error
	}
	ended := make(chan end, 1)
	go func() {
		outcome, err := Execute(ctx, s.access, s.job, s.runners, func(e job.Event) {
			s.lock.Lock()
			defer s.lock.Unlock()
			s.events = append(s.events, e)
		})
		ended <- end{outcome, err}
	}()
	return func() (Outcome, error) {
		s.t.Helper()
		select {
		case e := <-ended:
			return e.outcome, e.err
		case <-time.After(time.Minute):
			s.t.Fatal("Execute does not end")
			return Outcome{}, nil
		}
	}
}

// running waits until the job is followed.
func (s *stage) running() {
	s.t.Helper()
	eventually(s.t, "the job", func() bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(s.file(job.Dir.Job)), "attached"))
		return err == nil
	})
}

// seen waits until so many events have come.
func (s *stage) seen(n int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d events", n), func() bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return len(s.events) >= n
	})
}

// say writes text to the job's events.
func (s *stage) say(text string) {
	s.t.Helper()
	f, err := os.OpenFile(s.file(job.Dir.Events), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // a test's
	if _, err := f.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func event(e job.Event) string {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// finish ends the job with a result.
func (s *stage) finish() {
	s.t.Helper()
	s.say(event(job.Event{Type: job.EventResult, Result: &job.Result{Version: job.Version, Key: s.key(), Outcome: job.Pass}}))
	s.over()
}

func (s *stage) over() {
	s.t.Helper()
	if err := os.WriteFile(s.file(job.Dir.Exit), []byte("0\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// jobKeys counts the job's lines in the nodes' authorized_keys.
func (s *stage) jobKeys() int {
	s.t.Helper()
	n := 0
	for _, h := range s.nodes {
		n += strings.Count(readFile(s.t, h.AuthorizedKeys()), "ocihpc-job-"+s.key())
	}
	return n
}

// clean checks that no key of the job is left.
func (s *stage) clean(outcome Outcome) {
	s.t.Helper()
	if outcome.CleanupErr != nil || s.jobKeys() != 0 {
		s.t.Errorf("%d keys are left: %v", s.jobKeys(), outcome.CleanupErr)
	}
	if _, err := os.Stat(s.file(job.Dir.Key)); !os.IsNotExist(err) {
		s.t.Errorf("the private key is still there: %v", err)
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	end := s.execute(t.Context())
	s.running()
	if s.jobKeys() != 3 {
		t.Errorf("%d nodes let the head node in", s.jobKeys())
	}
	s.headReaches(1)
	checkMode(t, s.file(job.Dir.Key), 0o600)
	checkMode(t, s.file(job.Dir.Job), 0o600)
	var written job.Job
	if err := json.Unmarshal([]byte(readFile(t, s.file(job.Dir.Job))), &written); err != nil {
		t.Fatal(err)
	}
	for i, node := range written.Nodes {
		if node.HostKey != s.nodes[i].HostKey() || node.Name != s.job.Nodes[i].Name {
			t.Errorf("job.json names node %d %+v", i, node)
		}
	}
	s.say(event(job.Event{Type: job.EventStarted}))
	s.seen(1) // live, before the end
	s.finish()
	outcome, err := end()
	if err != nil || outcome.Result == nil || outcome.Result.Outcome != job.Pass || outcome.Key != s.key() || outcome.Reused {
		t.Errorf("%+v, %v", outcome, err)
	}
	if len(s.events) != 2 || s.events[1].Type != job.EventResult {
		t.Errorf("events %+v", s.events)
	}
	if len(outcome.HostKeys) != 4 || outcome.HostKeys[BastionID] != s.bastion.HostKey() || outcome.HostKeys["ocid1.instance.2"] != s.nodes[2].HostKey() {
		t.Errorf("host keys %v", outcome.HostKeys)
	}
	s.clean(outcome)

	// The same job again finds the result.
	s.access.HostKeys = outcome.HostKeys
	again, err := s.execute(t.Context())()
	if err != nil || !again.Reused || again.Result == nil || again.Key != outcome.Key {
		t.Errorf("the second time: %+v, %v", again, err)
	}
	s.clean(again)
}

// headReaches logs in to a node as the job does on the head node: with its key, from its address.
func (s *stage) headReaches(node int) {
	s.t.Helper()
	signer, err := ssh.ParsePrivateKey([]byte(readFile(s.t, s.file(job.Dir.Key))))
	if err != nil {
		s.t.Fatal(err)
	}
	head, elsewhere := s.nodes[0].Address, "127.255.0.1"
	for from, want := range map[string]bool{head: true, elsewhere: false} {
		if err := loginFrom(s.t, from, s.nodes[node], signer); (err == nil) != want {
			s.t.Errorf("login from %s (the head node is %s): %v", from, head, err)
		}
	}
}

// The connection is cut again and again, also within a line; every event comes once.
func TestExecuteReattaches(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	end := s.execute(t.Context())
	s.running()
	const rounds = 3
	for i := range rounds {
		line := event(job.Event{Type: job.EventOutput, Message: fmt.Sprintf("line %d: µs", i)})
		half := strings.Index(line, "µ") + 1 // within a character
		s.say(line)
		s.say(line[:half])
		s.seen(2*i + 1)
		connections := s.proxy.Connections()
		s.proxy.Cut()
		eventually(t, "a new connection", func() bool { return s.proxy.Connections() > connections })
		s.say(line[half:])
		s.seen(2*i + 2)
	}
	s.finish()
	outcome, err := end()
	if err != nil || outcome.Result == nil || outcome.Reused {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if len(s.events) != 2*rounds+1 {
		t.Errorf("%d events: %+v", len(s.events), s.events)
	}
	for i, e := range s.events[:2*rounds] {
		if want := fmt.Sprintf("line %d: µs", i/2); e.Message != want {
			t.Errorf("event %d: %q, want %q", i, e.Message, want)
		}
	}
	s.clean(outcome)
}

// An interrupted call leaves the job and its key alone; the next one joins it, with the same key.
func TestExecuteInterrupted(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	end := s.execute(ctx)
	s.running()
	cancel()
	outcome, err := end()
	if !errors.Is(err, context.Canceled) || len(outcome.HostKeys) != 3 || outcome.Key != s.key() {
		t.Errorf("%+v, %v", outcome, err)
	}
	private := readFile(t, s.file(job.Dir.Key))
	if s.jobKeys() != 2 {
		t.Errorf("%d keys are left to the running job", s.jobKeys())
	}

	s.access.HostKeys = outcome.HostKeys
	end = s.execute(t.Context())
	s.say(event(job.Event{Type: job.EventStarted}))
	s.seen(1)
	if readFile(t, s.file(job.Dir.Key)) != private || s.jobKeys() != 2 {
		t.Error("the running job's key was changed")
	}
	s.finish()
	if outcome, err = end(); err != nil || !outcome.Reused || outcome.Result == nil {
		t.Errorf("%+v, %v", outcome, err)
	}
	s.clean(outcome)
}

// An interrupt before the job was started takes the key away again.
func TestExecuteInterruptedBeforeStart(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	slow := sshdtest.Start(t, []ssh.PublicKey{s.access.Signers[0].PublicKey()},
		`ForceCommand cd; while [ -e hold ]; do sleep 0.01; done; eval "$SSH_ORIGINAL_COMMAND"`)
	s.nodes[1], s.job.Nodes[1].Address = slow, slow.Address
	hold := filepath.Join(slow.Home, "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	end := s.execute(ctx)
	eventually(t, "the key on the head node", func() bool { return s.jobKeys() == 1 })
	cancel()
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	outcome, err := end()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	s.clean(outcome)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	end := s.execute(ctx)
	s.running()
	cancel()
	outcome, _ := end()
	s.access.HostKeys = outcome.HostKeys
	if err := Cancel(t.Context(), s.access, s.job, s.runners); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, s.file(job.Dir.Exit)); got != "130\n" {
		t.Errorf("exit %q", got)
	}
	s.clean(outcome)
}

func TestExecuteFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		runner string
		want   string
	}{
		"start":      {"#!/bin/sh\n[ $1 != start ] || { echo 'job.json: version 9' >&2; exit 2; }", "version 9"},
		"no JSON":    {"#!/bin/sh\necho hello", "no JSON"},
		"no result":  {"#!/bin/sh\n[ $1 != start ] || echo '{\"state\":\"started\"}'", "without a result"},
		"bad events": {"#!/bin/sh\ncase $1 in start) echo '{\"state\":\"started\"}';; *) echo '{'; cat;; esac", "event at byte 0"},
		"attach":     {"#!/bin/sh\ncase $1 in start) echo '{\"state\":\"started\"}';; *) echo gone >&2; exit 3;; esac", "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1)
			s.runner = tt.runner
			outcome, err := s.execute(t.Context())()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v", err)
			}
			s.clean(outcome)
		})
	}
}

// A node with another host key ends the wait for one that is not there yet, and nothing is done anywhere.
func TestExecuteHostKeyChanged(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	s.nodes[1].Stop()
	s.access.HostKeys = map[string]string{"ocid1.instance.2": s.nodes[0].HostKey()}
	outcome, err := s.execute(t.Context())()
	var changed *HostKeyError
	if !errors.As(err, &changed) || changed.Name != "gpu-2" || strings.Contains(err.Error(), "gpu-1") {
		t.Errorf("error = %v", err)
	}
	if outcome.HostKeys["ocid1.instance.2"] != s.nodes[0].HostKey() {
		t.Error("the known key was forgotten")
	}
	s.clean(outcome)
}

func TestExecuteUnreachable(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	s.nodes[1].Stop()
	s.nodes[2].Stop()
	s.access.ConnectTimeout = time.Second
	_, err := s.execute(t.Context())()
	for _, want := range []string{"gpu-1", "gpu-2", "refused", "within 1s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// A node that is gone when the key is to be removed is told of, and does not fail the job.
func TestExecuteCleanupFails(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	end := s.execute(t.Context())
	s.running()
	s.nodes[1].Stop()
	s.nodes[1].NewHostKey("ed25519")
	s.nodes[1].Start()
	s.finish()
	outcome, err := end()
	var changed *HostKeyError
	if err != nil || outcome.Result == nil || !errors.As(outcome.CleanupErr, &changed) || changed.Name != "gpu-1" {
		t.Errorf("%+v, %v", outcome, err)
	}
	if s.jobKeys() != 1 {
		t.Errorf("%d keys are left, not only that of the node that is gone", s.jobKeys())
	}
}

func FuzzEventStream(f *testing.F) {
	f.Add([]byte(event(job.Event{Type: job.EventStarted})+event(job.Event{Type: job.EventResult, Result: &job.Result{}})), 7)
	f.Add([]byte("{\"type\":\"output\",\"message\":\"\xff\"}\n{}"), 1)
	f.Add([]byte("\n\n"), 0)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		count := func(parts ...[]byte) (events int, s *eventStream, err error) {
			s = &eventStream{handle: func(job.Event) { events++ }}
			for _, part := range parts {
				if _, err = s.Write(part); err != nil {
					break
				}
			}
			return events, s, err
		}
		whole, s, err := count(text)
		if s.consumed > int64(len(text)) || s.consumed > 0 && text[s.consumed-1] != '\n' {
			t.Fatalf("consumed %d of %q", s.consumed, text)
		}
		if err == nil && whole != strings.Count(string(text), "\n") {
			t.Errorf("%d events in %q", whole, text)
		}
		// Cut anywhere and continued from the last complete byte, it is the same.
		cut = min(max(cut, 0), len(text))
		first, before, firstErr := count(text[:cut])
		if firstErr != nil {
			return
		}
		rest, _, restErr := count(text[before.consumed:])
		if first+rest != whole || (restErr == nil) != (err == nil) {
			t.Errorf("cut at %d: %d and %d events, whole %d: %v, %v", cut, first, rest, whole, restErr, err)
		}
	})
}

// loginFrom logs in from a loopback address.
func loginFrom(t *testing.T, from string, h *sshdtest.Host, signer ssh.Signer) error {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	raw, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(h.Address, strconv.Itoa(h.Port)))
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // a test's
	known, _, _, _, err := ssh.ParseAuthorizedKey([]byte(h.HostKey()))
	if err != nil {
		return err
	}
	_, _, _, err = ssh.NewClientConn(raw, h.Address, &ssh.ClientConfig{
		User: h.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(known),
	})
	return err
}
