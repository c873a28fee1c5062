// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
)

// listenReply comes with the listening socket, or says why there is none.
type listenReply struct {
	Error string `json:"error"`
}

// Listen opens a TCP port that every host of the lab reaches at the listener's address, such as
// 169.254.169.254:5000, whatever its security lists say: for a registry or a package repository in this process.
// Port 0 is a free one. It fails with [labhost.ErrNoHost] in a lab without hosts.
func (l *Lab) Listen(ctx context.Context, port uint16) (net.Listener, error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := hostinit.WriteWithFiles(conn, controlRequest{Operation: operationListen, Port: port}); err != nil {
		return nil, err
	}
	var reply listenReply
	files, err := hostinit.ReadWithFiles(conn, &reply)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the lab for a port: %w", err)
	case reply.Error == labhost.ErrNoHost.Error():
		return nil, labhost.ErrNoHost
	case reply.Error != "":
		return nil, errors.New(reply.Error)
	case len(files) != 1:
		return nil, errors.New("ask the lab for a port: the answer has none")
	}
	return net.FileListener(files[0])
}

// listen gives the asker a socket of the lab's network.
func (d *daemon) listen(ctx context.Context, conn *net.UnixConn, port uint16) error {
	if d.hosts == nil {
		return hostinit.WriteWithFiles(conn, listenReply{labhost.ErrNoHost.Error()})
	}
	listener, err := d.hosts.Listen(ctx, port)
	if err != nil {
		return hostinit.WriteWithFiles(conn, listenReply{err.Error()})
	}
	defer func() { _ = listener.Close() }()
	file, err := listener.File()
	if err != nil {
		return hostinit.WriteWithFiles(conn, listenReply{err.Error()})
	}
	defer func() { _ = file.Close() }()
	return hostinit.WriteWithFiles(conn, listenReply{}, file)
}
