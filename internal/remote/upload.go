// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"al.essio.dev/pkg/shellescape"
)

// putScript writes stdin to the file $1 with mode $2 if it is $3 bytes with SHA-256 $4: into a file beside it,
// onto the disk, and over it in one step. With $5, nothing is written and the status is staleStatus unless
// the SHA-256 of the present file is that; a lock on the directory orders those who do so.
const putScript = `set -eu
cd
umask 077
fail() { echo "$1" >&2; exit 1; }
path=$(readlink -m -- "$1")
dir=$(dirname -- "$path")
mkdir -p -- "$dir"
tmp=$(mktemp -- "$path.XXXXXX")
trap 'rm -f -- "$tmp"' EXIT
trap 'exit 1' HUP INT TERM PIPE
cat > "$tmp"
size=$(wc -c < "$tmp")
[ "$size" -eq "$3" ] || fail "received $size of $3 bytes"
sum=$(sha256sum < "$tmp")
[ "${sum%% *}" = "$4" ] || fail "the SHA-256 of what arrived is ${sum%% *}, expected $4"
chmod -- "$2" "$tmp"
sync -- "$tmp"
if [ $# -gt 4 ]; then
	exec 9< "$dir"
	flock 9
	sum=$(cat -- "$path" 2>/dev/null | sha256sum)
	[ "${sum%% *}" = "$5" ] || exit 75
fi
mv -fT -- "$tmp" "$path"
sync -- "$dir"`

// staleStatus is EX_TEMPFAIL of sysexits.h.
const staleStatus = 75

// Upload writes a file on the host: whole and checked, or not at all. A relative path starts at the home of
// the login user; directories above are made with mode 0700. The content travels on stdin, so it is in
// nobody's process list. mode may give rights to the owner alone. size is in bytes, sum is the SHA-256 in hex.
func (c *Client) Upload(ctx context.Context, path string, mode fs.FileMode, size int64, sum string, content io.Reader) error {
	return c.put(ctx, path, mode, size, sum, content)
}

// put is Upload; with the SHA-256 of the present content, it refuses to replace any other (staleStatus).
func (c *Client) put(ctx context.Context, path string, mode fs.FileMode, size int64, sum string, content io.Reader, present ...string) error {
	if mode&^0o700 != 0 {
		return fmt.Errorf("upload %s: mode %#o would be open to others", path, mode)
	}
	argv := append([]string{"sh", "-c", putScript, "sh", path, fmt.Sprintf("%04o", mode), strconv.FormatInt(size, 10), sum}, present...)
	if err := c.Run(ctx, Command{Line: shellescape.QuoteCommand(argv), Stdin: content}); err != nil {
		return fmt.Errorf("upload %s: %w", path, err)
	}
	return nil
}

// write uploads a small file with mode 0600.
func (c *Client) write(ctx context.Context, path string, content []byte, present ...string) error {
	return c.put(ctx, path, 0o600, int64(len(content)), sha256Hex(content), bytes.NewReader(content), present...)
}

func sha256Hex(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
