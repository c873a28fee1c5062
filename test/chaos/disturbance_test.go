// SPDX-License-Identifier: MPL-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// act does something to a node, or to the head node of all.
type act func(ctx context.Context, nodes *acctest.Nodes, victim job.Node) error

// disturbance of a node during its set-up, and what ends it.
type disturbance struct {
	name       string
	begin, end act
	small      bool // the node has small disks of their own for what is set up, and for the runner
	headless   bool // nobody is left to tell a result
	outside    bool // it is who called the set-up from outside that is killed, and calls again
}

// Where the steps put their files, and where the runner is put.
const (
	setUpDir  = "/var/lib/chaos"
	runnerDir = "/home/opc/.ocihpc"
)

// disturbances are what happens to nodes and connections.
var disturbances = []disturbance{
	{name: "connection cut", begin: script(`pkill -KILL -u opc || :`)},
	{name: "connection silent", begin: script(`iptables -I INPUT ! -i lo -j DROP`), end: script(`iptables -D INPUT ! -i lo -j DROP`)},
	{
		name: "connection slowed",
		begin: script(`dev=$(ip -o route get 192.0.2.1 | sed 's/.* dev \([^ ]*\) .*/\1/')
iptables -I INPUT -p tcp --dport 22 -m statistic --mode random --probability 0.1 -j DROP
tc qdisc add dev $dev root tbf rate 128kbit burst 4k latency 1s`),
		end: script(`dev=$(ip -o route get 192.0.2.1 | sed 's/.* dev \([^ ]*\) .*/\1/')
iptables -D INPUT -p tcp --dport 22 -m statistic --mode random --probability 0.1 -j DROP
tc qdisc del dev $dev root`),
	},
	{name: "sshd stopped", begin: script(`pkill -STOP -x sshd`), end: script(`pkill -CONT -x sshd || :`)},
	{name: "sshd killed", begin: script(`pkill -KILL -x sshd`)},
	{
		name: "disk full", small: true,
		begin: script(`cat /dev/zero >` + setUpDir + `/filler 2>/dev/null || cat /dev/zero >` + runnerDir + `/filler 2>/dev/null || :`),
		end:   script(`rm -f ` + setUpDir + `/filler ` + runnerDir + `/filler`),
	},
	{name: "set-up killed", begin: script(`pkill -KILL -f '[o]cihpc-runner.* apply' || :`)},
	{name: "node killed", begin: instance(core.InstanceActionActionReset, core.InstanceLifecycleStateRunning)},
	{name: "node rebooted", begin: instance(core.InstanceActionActionSoftreset, core.InstanceLifecycleStateRunning)},
	{
		name:  "node stopped",
		begin: instance(core.InstanceActionActionStop, core.InstanceLifecycleStateStopped),
		end:   instance(core.InstanceActionActionStart, core.InstanceLifecycleStateRunning),
	},
	{name: "runner killed", headless: true, begin: func(ctx context.Context, nodes *acctest.Nodes, _ job.Node) error {
		return script(`pkill -KILL -f '[o]cihpc-runner setup' || :`)(ctx, nodes, nodes.Nodes[0])
	}},
	{name: "Terraform killed", outside: true},
}

// script is run on the victim.
func script(text string) act {
	return func(ctx context.Context, nodes *acctest.Nodes, victim job.Node) error {
		if out, err := nodes.Exec(ctx, victim.ID, "sh", "-c", text); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

// instance has OCI do something to the victim.
func instance(action core.InstanceActionActionEnum, end core.InstanceLifecycleStateEnum) act {
	return func(ctx context.Context, nodes *acctest.Nodes, victim job.Node) error {
		return nodes.Act(ctx, victim.ID, action, end)
	}
}

// prepare has every node look as if it had never been set up.
func (d disturbance) prepare(ctx context.Context, nodes *acctest.Nodes, victim job.Node) error {
	var problems []error
	for _, node := range nodes.Nodes {
		text := fmt.Sprintf(`set -e
for dir in %s %s; do ! mountpoint -q $dir || umount $dir; rm -rf $dir; done`, setUpDir, runnerDir)
		if d.small && node.Name == victim.Name {
			text += fmt.Sprintf("\ninstall -d -o opc -g opc -m 700 %[2]s\nmkdir %[1]s\nmount -t tmpfs -o size=1m none %[1]s\n"+
				"mount -t tmpfs -o size=32m,uid=$(id -u opc),gid=$(id -g opc),mode=700 none %[2]s", setUpDir, runnerDir)
		} else {
			text += "\nmkdir " + setUpDir
		}
		problems = append(problems, script(text)(ctx, nodes, node))
	}
	return errors.Join(problems...)
}

// strike begins the disturbance after a while, and ends it after another, unless that is 0.
func (d disturbance) strike(ctx context.Context, nodes *acctest.Nodes, victim job.Node, after, lasts time.Duration) error {
	time.Sleep(after) // The moment is the point of the test; whichever it is, the end must be the same.
	if err := d.begin(ctx, nodes, victim); err != nil || lasts == 0 || d.end == nil {
		return err
	}
	time.Sleep(lasts)
	return d.end(ctx, nodes, victim)
}
