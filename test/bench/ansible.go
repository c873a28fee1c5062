// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// ansibleConfig has what makes Ansible fast: one connection a host, that is kept; modules on stdin instead of in
// files; all hosts at a time. The lab's hosts have curve25519 as their key exchange, for whoever logs in.
const ansibleConfig = `[defaults]
forks = 64
gathering = explicit
host_key_checking = true
interpreter_python = /usr/bin/python3
remote_user = opc
private_key_file = ` + acctest.NodesKeyPath + `
[privilege_escalation]
become = true
[ssh_connection]
pipelining = true
ssh_args = -o ControlMaster=auto -o ControlPersist=60s -o KexAlgorithms=curve25519-sha256 -o UserKnownHostsFile=/root/bench-known-hosts
`

// playbook has the steps as Ansible's modules.
func playbook(setup job.Setup) []map[string]any {
	var tasks []map[string]any
	for _, s := range setup.Steps {
		task := map[string]any{"name": s.Name}
		switch {
		case s.Command != nil && s.Command.Argv[0] == "sh":
			task["shell"] = map[string]any{"cmd": s.Command.Argv[2], "creates": s.Command.Creates}
		case s.Command != nil:
			task["command"] = map[string]any{"argv": s.Command.Argv, "creates": s.Command.Creates}
		case s.File != nil:
			task["copy"] = map[string]any{"dest": s.File.Path, "content": s.File.Content, "mode": s.File.Mode}
		case s.Directory != nil:
			task["file"] = map[string]any{"path": s.Directory.Path, "state": "directory", "mode": s.Directory.Mode}
		case s.Link != nil:
			task["file"] = map[string]any{"path": s.Link.Path, "state": "link", "src": s.Link.Target}
		}
		tasks = append(tasks, task)
	}
	return []map[string]any{{"hosts": "all", "gather_facts": false, "tasks": tasks}}
}

// inventory has the head node as the runner has it: without a connection.
func inventory(nodes []job.Node) (hosts, knownHosts string) {
	var inventory, known strings.Builder
	for i, n := range nodes {
		if i == 0 {
			fmt.Fprintf(&inventory, "%s ansible_connection=local\n", n.Name)
			continue
		}
		fmt.Fprintf(&inventory, "%s ansible_host=%s\n", n.Name, n.Address)
		fmt.Fprintf(&known, "%s %s\n", n.Address, n.HostKey)
	}
	return inventory.String(), known.String()
}

// byAnsible measures ansible-playbook, from its start on the head node to its end.
func byAnsible(ctx context.Context, nodes *acctest.Nodes, changes bool) (setUpRun, error) {
	play, err := json.Marshal(playbook(steps(ansibleSteps))) // JSON is YAML
	if err != nil {
		return setUpRun{}, err
	}
	hosts, known := inventory(nodes.Nodes)
	for path, text := range map[string]string{
		"/root/bench.cfg": ansibleConfig, "/root/bench.yml": string(play), "/root/bench-hosts": hosts, "/root/bench-known-hosts": known,
	} {
		if err := nodes.Put(ctx, nodes.Head(), path, 0o600, []byte(text)); err != nil {
			return setUpRun{}, err
		}
	}
	const output = "/root/bench-output" // a pipe would stay open with the connections that are kept
	run, err := measured(nodes, func() error {
		_, err := nodes.Exec(ctx, nodes.Head(), "env", "HOME=/root", "LC_ALL=C.UTF-8", "ANSIBLE_CONFIG=/root/bench.cfg",
			"sh", "-c", "exec ansible-playbook -i /root/bench-hosts /root/bench.yml </dev/null >"+output+" 2>&1")
		return err
	})
	said, readErr := nodes.Exec(ctx, nodes.Head(), "cat", output)
	if err != nil {
		return run, fmt.Errorf("ansible-playbook: %w\n%s", err, said)
	}
	if readErr != nil {
		return run, readErr
	}
	want := "0"
	if changes {
		want = "10"
	}
	if got := len(regexp.MustCompile(`ok=10 +changed=`+want+` `).FindAll(said, -1)); got != len(nodes.Nodes) {
		return run, fmt.Errorf("ansible-playbook: %s steps were to change on %d hosts, and did so on %d:\n%s", want, len(nodes.Nodes), got, said)
	}
	return run, nil
}
