// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

const (
	authorizedKeys = ".ssh/authorized_keys"

	// expiryFormat is what every sshd since OpenSSH 7.7 reads, in its own time zone. The Z suffix came with
	// 9.1, and Oracle Linux 8 has 8.0, which takes a key with it for broken.
	expiryFormat = "20060102150405"

	// expiryMargin is added because the text is in UTC and a zone may be 14 hours ahead of it: a key must not
	// end before its job does, whatever zone the node is given meanwhile.
	expiryMargin = 24 * time.Hour
)

// jobLine matches the lines that authorizedLine writes, and no others: expiry and job.
var jobLine = regexp.MustCompile(`^restrict,expiry-time="(\d{14})",from="[0-9a-f.:,]+" ssh-ed25519 [A-Za-z0-9+/=]+ ocihpc-job-([0-9a-f]+)\n?$`)

// authorizedLine is the line of authorized_keys that lets the head node in, for one job and for a time.
func authorizedLine(public ssh.PublicKey, jobKey string, from []netip.Addr, until time.Time) string {
	var addresses []string
	for _, address := range from {
		addresses = append(addresses, address.String())
	}
	return fmt.Sprintf("restrict,expiry-time=%q,from=%q %s ocihpc-job-%s\n", until.UTC().Add(expiryMargin).Format(expiryFormat),
		strings.Join(addresses, ","), marshalKey(public), jobKey)
}

// rewriteKeys gives the text of authorized_keys with line in place of those of the same job, and without those
// of jobs that have expired. An empty line only removes. Whatever is not ours stays as it is.
func rewriteKeys(text, jobKey, line string, now time.Time) string {
	var kept strings.Builder
	for present := range strings.Lines(text) {
		ours := jobLine.FindStringSubmatch(present)
		if ours != nil && (ours[2] == jobKey || ours[1] <= now.UTC().Format(expiryFormat)) {
			continue
		}
		kept.WriteString(present)
	}
	if line != "" && kept.Len() > 0 && !strings.HasSuffix(kept.String(), "\n") {
		kept.WriteByte('\n')
	}
	return kept.String() + line
}

// authorize puts the line for a job into the host's authorized_keys, or takes it out when line is empty.
func authorize(ctx context.Context, c *Client, jobKey, line string) error {
	for {
		present, err := c.Output(ctx, "cd && { cat "+authorizedKeys+" 2>/dev/null || [ ! -e "+authorizedKeys+" ]; }")
		if err != nil {
			return fmt.Errorf("read authorized_keys: %w", err)
		}
		wanted := rewriteKeys(string(present), jobKey, line, time.Now())
		if wanted == string(present) {
			return nil
		}
		err = c.write(ctx, authorizedKeys, []byte(wanted), sha256Hex(present))
		var exit *ExitError
		if errors.As(err, &exit) && exit.Status == staleStatus {
			continue // somebody else changed it in between
		}
		return err
	}
}

// ensureKeyPair gives the public half of the job's key, whose private half is on the head node alone. A pair
// that is there is kept: a running job may be using it. fresh says that there was none.
func ensureKeyPair(ctx context.Context, head *Client, dir job.Dir) (public ssh.PublicKey, fresh bool, err error) {
	private := shellescape.Quote(dir.Key())
	out, err := head.Output(ctx, "cd && if [ -e "+private+" ]; then cat "+private+".pub; fi")
	if err != nil {
		return nil, false, fmt.Errorf("look for the job's key: %w", err)
	}
	if len(out) > 0 {
		if public, _, _, _, err = ssh.ParseAuthorizedKey(out); err == nil && public.Type() == ssh.KeyAlgoED25519 {
			return public, false, nil
		}
	}
	public, text, err := newKeyPair("ocihpc-job-" + path.Base(string(dir)))
	if err != nil {
		return nil, false, fmt.Errorf("make the job's key: %w", err)
	}
	if err := head.write(ctx, dir.Key()+".pub", ssh.MarshalAuthorizedKey(public)); err != nil {
		return nil, false, err
	}
	// The private half comes last: where it is, its public half is too.
	return public, true, head.write(ctx, dir.Key(), text)
}

func newKeyPair(comment string) (ssh.PublicKey, []byte, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return nil, nil, err
	}
	key, err := ssh.NewPublicKey(public)
	return key, pem.EncodeToMemory(block), err
}

// ownAddresses gives the addresses from which a host may reach others.
func ownAddresses(ctx context.Context, c *Client) ([]netip.Addr, error) {
	out, err := c.Output(ctx, `set -- $SSH_CONNECTION; echo "$3"; hostname -I`)
	if err != nil {
		return nil, fmt.Errorf("ask for addresses: %w", err)
	}
	var addresses []netip.Addr
	for _, word := range strings.Fields(string(out)) {
		address, err := netip.ParseAddr(word)
		if err != nil {
			return nil, fmt.Errorf("ask %s for its addresses: %w", c.name, err)
		}
		address = address.WithZone("").Unmap()
		if !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%s says that it has no address", c.name)
	}
	return addresses, nil
}
