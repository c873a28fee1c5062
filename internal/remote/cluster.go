// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Access says how to reach a cluster's nodes.
type Access struct {
	User    string
	Port    int // of the nodes; 0 means 22
	Signers []ssh.Signer
	Bastion *Target // nil: the nodes are reached directly
	// HostKeys known so far, as in known_hosts: by [HostKeyID], and [BastionID] for the bastion. A host that
	// is not in it is accepted as it is.
	HostKeys map[string]string
	// RegistryAuth are credentials of container registries for a set-up, in the form of ~/.docker/config.json; nil is
	// none. They are on the head node, for its owner alone, until the job is over.
	RegistryAuth []byte
	// Limit is how many nodes are worked on at a time; 0 means 32.
	Limit int
	// ConnectTimeout bounds the wait for nodes that are still booting; 0 means 15 minutes.
	ConnectTimeout time.Duration
	// KeepAlive as in [Target].
	KeepAlive time.Duration
	// OnWait, where set, hears now and then why a host is still waited for. It is called from several
	// goroutines.
	OnWait func(host string, reason error)
}

// bastionLimit bounds the first contact with the bastion. It is there before the nodes are: one that does not
// answer, or refuses the login, is a mistake sooner than a machine that boots.
const bastionLimit = 2 * time.Minute

// BastionID stands for the bastion among host keys.
const BastionID = "bastion"

// HostKeyID stands for a node among host keys: its instance's OCID, or its address where it has none.
func HostKeyID(n job.Node) string {
	if n.ID != "" {
		return n.ID
	}
	return n.Address
}

// head is the index of the head node.
const head = 0

// cluster holds the connections to a job's nodes, and makes them anew when they are lost.
type cluster struct {
	access  Access
	nodes   []job.Node
	clients []*Client // by node; each belongs to who works on the node

	bastionLock sync.Mutex
	bastion     *Client

	keysLock sync.Mutex
	keys     map[string]string
}

func newCluster(access Access, nodes []job.Node) *cluster {
	keys := maps.Clone(access.HostKeys)
	if keys == nil {
		keys = map[string]string{}
	}
	for _, node := range nodes {
		if node.HostKey != "" {
			keys[HostKeyID(node)] = node.HostKey
		}
	}
	if b := access.Bastion; b != nil && b.HostKey != "" {
		keys[BastionID] = b.HostKey
	}
	return &cluster{access: access, nodes: nodes, clients: make([]*Client, len(nodes)), keys: keys}
}

// connect reaches every node, and stops early when one of them can never be reached.
func (c *cluster) connect(ctx context.Context) error {
	limit := c.access.ConnectTimeout
	if limit == 0 {
		limit = 15 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not all nodes could be reached within %s", limit))
	defer cancel()
	if _, err := c.throughBastion(ctx); err != nil { // its failure is one error, not one a node
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return c.each(func(i int) error {
		_, err := c.client(ctx, i)
		if isHopeless(err) {
			stop(errOtherNode)
		}
		if errors.Is(err, errOtherNode) {
			return nil // the other node's error says it all
		}
		return err
	})
}

var errOtherNode = errors.New("another node can never be reached")

// each works on all nodes, some at a time. The error tells of every node that failed.
func (c *cluster) each(work func(i int) error) error {
	limit := c.access.Limit
	if limit == 0 {
		limit = 32
	}
	failures := make([]error, len(c.nodes))
	var group errgroup.Group
	group.SetLimit(limit)
	for i := range c.nodes {
		group.Go(func() error {
			failures[i] = work(i)
			return nil
		})
	}
	_ = group.Wait() // failures holds the errors
	return errors.Join(failures...)
}

// client gives the connection to a node: the one there is, or a new one once the node can be reached.
func (c *cluster) client(ctx context.Context, i int) (*Client, error) {
	if present := c.clients[i]; present != nil && present.alive() {
		return present, nil
	}
	node := c.nodes[i]
	target := Target{
		Name: node.Name, Address: node.Address, Port: c.access.Port, User: c.access.User,
		Signers: c.access.Signers, KeepAlive: c.access.KeepAlive,
	}
	var pause backoff
	for {
		bastion, err := c.throughBastion(ctx)
		if err != nil {
			return nil, err
		}
		client, err := c.dial(ctx, HostKeyID(node), target, bastion)
		if err == nil {
			c.clients[i] = client
			return client, nil
		}
		if !errors.Is(err, ErrTransportLost) || pause.wait(ctx) != nil {
			return nil, err
		}
	}
}

// throughBastion gives the connection to the bastion, nil without one.
func (c *cluster) throughBastion(ctx context.Context) (*Client, error) {
	if c.access.Bastion == nil {
		return nil, nil
	}
	c.bastionLock.Lock()
	defer c.bastionLock.Unlock()
	if c.bastion != nil && c.bastion.alive() {
		return c.bastion, nil
	}
	target := *c.access.Bastion
	if target.KeepAlive == 0 {
		target.KeepAlive = c.access.KeepAlive
	}
	if c.bastion == nil { // later it has shown that it can be reached, and is worth the wait
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, bastionLimit, fmt.Errorf("no login within %s", bastionLimit))
		defer cancel()
	}
	client, err := c.dial(ctx, BastionID, target, nil)
	if err == nil {
		c.bastion = client
	}
	return client, err
}

// dial connects, and remembers the host's key for the next time.
func (c *cluster) dial(ctx context.Context, id string, target Target, via *Client) (*Client, error) {
	c.keysLock.Lock()
	target.HostKey = c.keys[id]
	c.keysLock.Unlock()
	if c.access.OnWait != nil {
		target.OnRetry = func(reason error) { c.access.OnWait(target.Name, reason) }
	}
	client, err := DialRetry(ctx, target, via)
	if err != nil {
		return nil, err
	}
	c.keysLock.Lock()
	defer c.keysLock.Unlock()
	c.keys[id] = client.HostKey()
	return client, nil
}

// on does something on a node that may be done twice, and does it again on a new connection when the
// connection is lost.
func (c *cluster) on(ctx context.Context, i int, work func(*Client) error) error {
	var pause backoff
	for {
		client, err := c.client(ctx, i)
		if err != nil {
			return err
		}
		if err := work(client); !errors.Is(err, ErrTransportLost) || pause.wait(ctx) != nil {
			return err
		}
	}
}

// hostKeys gives all keys known by now.
func (c *cluster) hostKeys() map[string]string {
	c.keysLock.Lock()
	defer c.keysLock.Unlock()
	return maps.Clone(c.keys)
}

// fill gives the job with the host keys of its nodes.
func (c *cluster) fill(j job.Job) job.Job {
	keys := c.hostKeys()
	nodes := make([]job.Node, len(j.Nodes))
	for i, node := range j.Nodes {
		node.HostKey = keys[HostKeyID(node)]
		nodes[i] = node
	}
	j.Nodes = nodes
	return j
}

// release closes the connections to all nodes but the head: nothing of ours runs there while they are measured.
func (c *cluster) release() {
	for i, client := range c.clients {
		if i != head && client != nil {
			_ = client.Close()
		}
	}
}

func (c *cluster) close() {
	c.release()
	for _, client := range []*Client{c.clients[head], c.bastion} {
		if client != nil {
			_ = client.Close()
		}
	}
}
