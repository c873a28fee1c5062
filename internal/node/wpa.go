// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// portAuthentication is what wpa_supplicant says of one RDMA port.
type portAuthentication struct {
	port  string
	state string // of 802.1X, such as AUTHENTICATED
	err   error
}

// askAuthentication asks wpa_supplicant for every port with an interface, at the same time.
func askAuthentication(ctx context.Context, ports []hca) []portAuthentication {
	answers := make([]portAuthentication, len(ports))
	var group sync.WaitGroup
	for i, h := range ports {
		answers[i].port = h.Name + " (" + h.Interface + ")"
		group.Go(func() {
			text, err := answerAsRoot(ctx, "wpa_cli", "-i", h.Interface, "status")
			answers[i].state, answers[i].err = authenticationState(text), err
		})
	}
	group.Wait()
	return answers
}

// authenticationState reads lines such as "Supplicant PAE state=AUTHENTICATED".
func authenticationState(status string) string {
	for line := range strings.Lines(status) {
		if state, ok := strings.CutPrefix(strings.TrimSpace(line), "Supplicant PAE state="); ok {
			return state
		}
	}
	return ""
}

func checkAuthentication(f findings) job.Check {
	const name = "rdma_authentication"
	parts := []part{}
	var silent []error
	for _, a := range f.authentication {
		switch {
		case a.state == "AUTHENTICATED":
			parts = append(parts, part{a.port, pass})
		case a.state != "":
			parts = append(parts, part{a.port, verdict{job.Fail, "802.1X is " + a.state, ""}})
		default:
			silent = append(silent, a.err)
			parts = append(parts, part{a.port, verdict{job.Fail, "wpa_supplicant does not serve it", ""}})
		}
	}
	if len(silent) == 0 || len(silent) < len(parts) {
		return combine(name, fmt.Sprintf("%d RDMA ports are authenticated", len(parts)), parts)
	}
	err := errors.Join(silent[0])
	if err != nil && strings.Contains(err.Error(), "Failed to connect") {
		return check(name, job.Warn, "wpa_supplicant serves none of the RDMA ports: the network drops what is not authenticated", "")
	}
	return check(name, job.CannotTell, fmt.Sprintf("wpa_supplicant could not be asked: %v", err), "let the login user run wpa_cli by sudo without a password")
}
