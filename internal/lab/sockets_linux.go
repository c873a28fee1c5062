// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// sockets are what clients on this machine connect to. They are opened in the machine's own network
// namespace and handed to the daemon, which has another.
type sockets struct {
	http, https, control *os.File
	bastion              []*os.File // none or one

	httpPort, httpsPort, bastionPort int
}

// listen gives what it has opened, also with an error. A lab that goes on has the ports that it had, where
// they are free.
func listen(ctx context.Context, cfg Config, old *daemonConfig) (*sockets, error) {
	s := &sockets{}
	var before Info
	if old != nil {
		before = old.Info
	}
	var err error
	if s.http, s.httpPort, err = listenAgain(ctx, cfg.HTTPPort, portOf(before.Endpoint)); err != nil {
		return s, err
	}
	if s.https, s.httpsPort, err = listenAgain(ctx, cfg.HTTPSPort, portOf(before.HTTPSEndpoint)); err != nil {
		return s, err
	}
	if s.control, err = listenControl(cfg.Dir); err != nil {
		return s, err
	}
	if cfg.Hosts == HostsLinux {
		bastion, port, err := listenAgain(ctx, cfg.BastionPort, before.BastionPort)
		if err != nil {
			return s, err
		}
		s.bastion, s.bastionPort = []*os.File{bastion}, port
	}
	return s, nil
}

// listenAgain takes a port that is wanted, or else the one before, or else a free one.
func listenAgain(ctx context.Context, wanted, before int) (*os.File, int, error) {
	if wanted == 0 && before != 0 {
		if file, port, err := listenTCP(ctx, before); err == nil {
			return file, port, nil
		}
	}
	return listenTCP(ctx, wanted)
}

func listenTCP(ctx context.Context, port int) (*os.File, int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, 0, fmt.Errorf("port %d of 127.0.0.1 is taken; choose another one, or 0 for a free one: %w", port, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("listen for clients: %w", err)
	}
	defer func() { _ = listener.Close() }()
	tcp := listener.(*net.TCPListener)
	file, err := tcp.File()
	if err != nil {
		return nil, 0, fmt.Errorf("listen for clients: %w", err)
	}
	return file, tcp.Addr().(*net.TCPAddr).Port, nil
}

func (s *sockets) close() {
	for _, file := range append([]*os.File{s.http, s.https, s.control}, s.bastion...) {
		_ = file.Close() // nil for what was not opened
	}
}

// reachedBy says where clients find the lab.
func (i *Info) reachedBy(s *sockets) {
	i.Endpoint, i.HTTPSEndpoint = fmt.Sprintf("http://127.0.0.1:%d", s.httpPort), fmt.Sprintf("https://127.0.0.1:%d", s.httpsPort)
	i.BastionPort = s.bastionPort
}
