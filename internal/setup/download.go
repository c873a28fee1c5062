// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Download is a file from elsewhere, which is known by its digest. What is there with that digest is not fetched
// again; an attempt that was cut off goes on where it stopped.
type Download struct {
	Ident
	Place
	// Source is an http or https address, or the path of a file of the node.
	Source string
	SHA256 string // in lower-case hex
}

// ErrDigest says that a file is not the one that was asked for.
var ErrDigest = errors.New("wrong SHA-256")

// Title says the step.
func (d Download) Title() string { return d.title("Download " + d.Path) }

// Downloads says whether it comes from outside.
func (d Download) Downloads() bool { return !filepath.IsAbs(d.Source) }

// Check compares digest, mode and owner.
func (d Download) Check(context.Context) (State, error) {
	info, err := os.Lstat(d.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return State{Detail: "it is not there; from " + d.Source}, nil
	case err != nil:
		return State{}, err
	case info.IsDir():
		return State{}, Advise(fmt.Errorf("%s is a directory", d.Path), "move it away, or name another path")
	case !info.Mode().IsRegular():
		return State{Detail: "it is no file: " + info.Mode().Type().String()}, nil
	}
	differ, err := d.differences(info)
	if err != nil {
		return State{}, err
	}
	sum, err := sumOf(d.Path)
	if err != nil {
		return State{}, err
	}
	if sum != d.SHA256 {
		differ = append(differ, "its SHA-256 is "+sum)
	}
	return State{Done: len(differ) == 0, Detail: strings.Join(differ, "; ")}, nil
}

const (
	attempts     = 5
	firstPause   = time.Second
	stallLimit   = time.Minute // without a byte
	answerLimit  = time.Minute // until the server answers
	connectLimit = 20 * time.Second
)

// Apply fetches the file beside its place, and puts it there once its digest is right.
func (d Download) Apply(ctx context.Context, output io.Writer) error {
	if d.correct() { // only mode or owner differ
		return d.adjust()
	}
	part := d.temporary()
	for attempt, pause := 1, firstPause; ; attempt, pause = attempt+1, pause*2 {
		err := d.fetch(ctx, part)
		if err == nil {
			return d.finish(part)
		}
		var permanent permanentError
		if ctx.Err() != nil || attempt == attempts || errors.As(err, &permanent) {
			if info, statErr := os.Lstat(part); statErr == nil && info.Size() == 0 {
				_ = os.Remove(part) // nothing to go on with
			}
			return err
		}
		_, _ = fmt.Fprintf(output, "attempt %d of %d: %v\n", attempt, attempts, err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// correct says whether the right content is in place.
func (d Download) correct() bool {
	info, err := os.Lstat(d.Path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	sum, err := sumOf(d.Path)
	return err == nil && sum == d.SHA256
}

func (d Download) adjust() error {
	file, err := os.OpenFile(d.Path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.give(file), file.Sync(), file.Close())
}

// permanentError is one that trying again does not help.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// fetch gets the rest of the part file.
func (d Download) fetch(ctx context.Context, part string) error {
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600) // #nosec G304 -- beside the path that was asked for
	if err != nil {
		return permanentError{err}
	}
	defer file.Close() //nolint:errcheck // finish opens and syncs it
	at, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return permanentError{err}
	}
	if !d.Downloads() {
		return d.copyFile(file)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, resumed, err := d.open(ctx, at)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // nothing was written
	if !resumed {
		if err := restart(file); err != nil {
			return permanentError{err}
		}
	}
	stalled := time.AfterFunc(stallLimit, func() { cancel(fmt.Errorf("%s: no byte within %s", d.Source, stallLimit)) })
	defer stalled.Stop()
	if _, err := io.Copy(writerFunc(func(p []byte) (int, error) {
		stalled.Reset(stallLimit)
		n, err := file.Write(p)
		if err != nil {
			err = permanentError{err}
		}
		return n, err
	}), body); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("download %s: %w", d.Source, err)
	}
	return d.verify(file, resumed)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func restart(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

func (d Download) copyFile(to *os.File) error {
	from, err := os.Open(d.Source)
	if err != nil {
		return permanentError{err}
	}
	defer from.Close() //nolint:errcheck // nothing was written
	if err := restart(to); err != nil {
		return permanentError{err}
	}
	if _, err := io.Copy(to, from); err != nil {
		return permanentError{err}
	}
	return d.verify(to, false)
}

// verify refuses what is not the wanted file, and removes it. The second half of another file may have been added to
// the first of the wanted one: then it is worth another attempt, from the start.
func (d Download) verify(file *os.File, resumed bool) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return permanentError{err}
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return permanentError{err}
	}
	got := hex.EncodeToString(hash.Sum(nil))
	if got == d.SHA256 {
		return nil
	}
	if err := os.Remove(file.Name()); err != nil {
		return permanentError{err}
	}
	err := Advise(fmt.Errorf("%w: %s has %s, and %s was expected", ErrDigest, d.Source, got, d.SHA256),
		"it was changed on its way or at its source, and is not used: do not give the new digest before you know why")
	if resumed {
		return err
	}
	return permanentError{err}
}

// finish puts the verified file in its place.
func (d Download) finish(part string) error {
	file, err := os.OpenFile(part, os.O_RDWR|unix.O_NOFOLLOW, 0) // #nosec G304 -- our own
	if err != nil {
		return err
	}
	return d.keep(file, d.give(file))
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- what was asked for
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// open asks for the file from a byte on. resumed says that the server gives it from there.
func (d Download) open(ctx context.Context, at int64) (body io.ReadCloser, resumed bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Source, nil)
	if err != nil {
		return nil, false, permanentError{err}
	}
	if at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, false, Advise(err, "see whether the node reaches that address: its route, DNS, firewall, and proxy (https_proxy)")
	}
	switch {
	case response.StatusCode == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", at)):
		return response.Body, true, nil
	case response.StatusCode == http.StatusOK:
		return response.Body, false, nil
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return http.NoBody, true, response.Body.Close() // all of it is there already, or it is another file
	}
	_ = response.Body.Close() // the status is what counts
	err = fmt.Errorf("download %s: the server says %s", d.Source, response.Status)
	if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusRequestTimeout {
		return nil, false, err
	}
	return nil, false, permanentError{Advise(err, "see whether the address is right, and whether it asks for a login")}
}
