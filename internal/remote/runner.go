// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Runners gives the ocihpc-runner for an architecture in Go's words (amd64, arm64), and its SHA-256 in hex.
type Runners func(goarch string) (content []byte, sha256 string, err error)

// goarch by the kernel's word for the machine.
var goarch = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// runnerScript is one conversation, so that a host that has the runner costs a single session. It tells its machine, and
// hears the name and the SHA-256 of the runner. Where that is not there, it says so, and hears how to get it, as often as
// it takes: from another host, which it need not trust, or by what follows on stdin. What was used is touched, so that
// `ocihpc-runner clean` knows. openssl uses the processor's instructions for SHA-256 everywhere, coreutils on some systems.
const runnerScript = `set -eu
cd
umask 077
if command -v openssl >/dev/null; then sha256='openssl dgst -sha256 -r'; else sha256=sha256sum; fi
sum() { sum=$($sha256); echo "${sum%% *}"; }
fetch() {
	timeout 5 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" || return
	printf '%s\n' "$3" | timeout 60 bash -c 'exec 3<>"/dev/tcp/$0/$1"; read -r token; printf "%s\n" "$token" >&3; exec cat <&3' "$1" "$2"
}
command -v gzip >/dev/null && echo "$(uname -m) gzip" || uname -m
read -r name want
dir=$(readlink -m -- "$1")
path=$dir/$name
if [ -f "$path" ] && [ "$(sum <"$path")" = "$want" ]; then
	chmod 0700 "$path"
	touch "$path"
	echo present
	exit
fi
mkdir -p "$dir"
tmp=$(mktemp "$path.XXXXXX")
trap 'rm -f "$tmp"' EXIT
trap 'exit 1' HUP INT TERM PIPE
echo absent
while read -r how host port token; do
	said=
	case $how in
	plain) cat >"$tmp" ;;
	gzip) gzip -dc >"$tmp" ;;
	fetch) said=$(fetch "$host" "$port" "$token" 2>&1 >"$tmp") || said="failed with status $?: $said" ;;
	esac
	got=$(sum <"$tmp")
	if [ "$got" = "$want" ]; then
		chmod 0700 "$tmp"
		mv -fT "$tmp" "$path"
		echo placed
		exit
	fi
	[ "$how" = fetch ] || { echo "the SHA-256 of what arrived is $got, expected $want" >&2; exit 1; }
	echo "refused ${said:-the SHA-256 is $got, expected $want}" | tr '\n' ' '
	echo
done
exit 1`

// Source says where a host that lacks the runner gets it from: an offer of another host, or nil for an upload. failed is why the
// offer before this one was of no use; nil is the first question.
type Source func(ctx context.Context, failed error) (*handover.Offer, error)

// EnsureRunner sees to it that the host has this very runner, and gives its path, relative to the home of the
// login user. One that is there is used when its content is right. An upload is compressed: the way may be slow.
func EnsureRunner(ctx context.Context, c *Client, runners Runners) (string, error) {
	return ensureRunner(ctx, c, runners, nil)
}

// EnsureRunnerFrom is EnsureRunner on a fast network, where other hosts may have the runner. What they give is used only with
// the right digest.
func EnsureRunnerFrom(ctx context.Context, c *Client, runners Runners, from Source) (string, error) {
	return ensureRunner(ctx, c, runners, from)
}

func ensureRunner(ctx context.Context, c *Client, runners Runners, from Source) (string, error) {
	dir := path.Join(job.Root, "bin")
	talk := c.talk(ctx, shellescape.QuoteCommand([]string{"sh", "-c", runnerScript, "sh", dir}))
	defer talk.end()
	said, err := talk.hear()
	if err != nil {
		return "", fmt.Errorf("look for the runner: %w", err)
	}
	machine, zip, _ := strings.Cut(said, " ")
	arch, ok := goarch[machine]
	if !ok {
		return "", fmt.Errorf("%s is a %q machine; the runner exists for x86_64 and aarch64", c.name, machine)
	}
	binary, sum, err := runners(arch)
	if err != nil {
		return "", fmt.Errorf("runner for %s: %w", c.name, err)
	}
	if len(sum) < 16 {
		return "", fmt.Errorf("runner for %s: %q is no SHA-256", c.name, sum)
	}
	name := "ocihpc-runner-" + sum[:16]
	said, err = talk.ask(name, sum)
	switch {
	case err != nil || said == "present":
	case said == "absent":
		err = place(ctx, talk, binary, zip != "", from)
	default:
		err = fmt.Errorf("the host answered %.200q", said)
	}
	if err != nil {
		return "", fmt.Errorf("put the runner on %s: %w", c.name, err)
	}
	return path.Join(dir, name), nil
}

// place gets the runner to a host that lacks it.
func place(ctx context.Context, talk *talk, binary []byte, zip bool, from Source) error {
	var offer *handover.Offer
	var err error
	for failed := error(nil); from != nil; {
		if offer, err = from(ctx, failed); err != nil {
			return err
		}
		if offer == nil {
			break
		}
		host, port, err := net.SplitHostPort(offer.Address)
		if err != nil {
			return err
		}
		said, err := talk.ask("fetch", host, port, offer.Token)
		if err != nil || said == "placed" {
			return err
		}
		failed = errors.New(strings.TrimSpace(strings.TrimPrefix(said, "refused ")))
	}
	if zip && from == nil {
		return talk.send("gzip", func(to io.Writer) error { return pack(to, binary) })
	}
	return talk.send("plain", func(to io.Writer) error {
		_, err := bytes.NewReader(binary).WriteTo(to)
		return err
	})
}

// pack writes content compressed, in packets of full size: gzip writes a few hundred bytes at a time, and sshd copies all that
// waits for the host with each packet.
func pack(to io.Writer, content []byte) error {
	whole := bufio.NewWriterSize(to, 32<<10) // as much as a packet holds
	packed, err := gzip.NewWriterLevel(whole, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = packed.Write(content)
	return errors.Join(err, packed.Close(), whole.Flush())
}

// talk is a conversation with a script on a host, line by line.
type talk struct {
	to    *io.PipeWriter
	lines *bufio.Reader
	from  *io.PipeReader
	ended chan struct{}
}

func (c *Client) talk(ctx context.Context, line string) *talk {
	in, to := io.Pipe()
	from, out := io.Pipe()
	t := &talk{to: to, from: from, lines: bufio.NewReader(from), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		err := c.Run(ctx, Command{Line: line, Stdin: in, Stdout: out})
		if err == nil {
			err = io.EOF
		}
		_ = in.CloseWithError(err)
		_ = out.CloseWithError(err)
	}()
	return t
}

// end waits for the end of the script, which comes with that of its input.
func (t *talk) end() {
	_ = t.to.Close()
	_ = t.from.Close()
	<-t.ended
}

func (t *talk) hear() (string, error) {
	line, err := t.lines.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (t *talk) ask(words ...string) (string, error) {
	if _, err := io.WriteString(t.to, strings.Join(words, " ")+"\n"); err != nil {
		return "", err
	}
	return t.hear()
}

// send is the last word: what content writes, to its end.
func (t *talk) send(how string, content func(io.Writer) error) error {
	if _, err := io.WriteString(t.to, how+"\n"); err != nil {
		return err
	}
	sent := content(t.to)
	_ = t.to.Close()
	said, err := t.hear()
	if err == nil && said != "placed" {
		err = fmt.Errorf("the host answered %.200q", said)
	}
	if err != nil {
		return err // of the host's end, which is why nothing more could be sent
	}
	return sent
}
