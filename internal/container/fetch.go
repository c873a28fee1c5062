// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrDigest says that a file is not the one that was asked for.
var ErrDigest = errors.New("wrong SHA-256")

// httpClient gives up on a server that does not answer; the body may take as long as the context allows.
var httpClient = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	ResponseHeaderTimeout: 60 * time.Second,
	TLSHandshakeTimeout:   20 * time.Second,
}}

// open starts to read an http or https address.
func open(ctx context.Context, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", address, err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err) // it names the address
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close() // the status is what counts
		return nil, fmt.Errorf("download %s: %s", address, response.Status)
	}
	return response.Body, nil
}

// get reads a small file from an address.
func get(ctx context.Context, address string, limit int64) ([]byte, error) {
	body, err := open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", address, err)
	}
	return text, nil
}

// fetch puts the file of an address (or a path of this node) into a directory and verifies it there; what does
// not verify is removed. The caller removes the file.
func fetch(ctx context.Context, address, sum, dir string) (string, error) {
	var body io.ReadCloser
	var err error
	if isAddress(address) {
		body, err = open(ctx, address)
	} else {
		body, err = os.Open(address) // #nosec G304 -- a file of the mirror that the job names
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	file, err := os.CreateTemp(dir, "download-*-"+filepath.Base(address))
	if err != nil {
		return "", fmt.Errorf("make a file for the download: %w", err)
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, hash), body)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		err = fmt.Errorf("download %s: %w", address, err)
	} else if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		err = fmt.Errorf("%w: %s has %s, and %s was expected; it was changed on the way or at its source, and is not used", ErrDigest, address, got, sum)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the error above is the one to tell
		return "", err
	}
	return file.Name(), nil
}

// publishedSum finds a file's digest in a vendor's list of them (the format of sha256sum).
func publishedSum(ctx context.Context, sums, file string) (string, error) {
	text, err := get(ctx, sums, manifestLimit)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.TrimPrefix(filepath.Base(fields[1]), "*") == file && len(fields[0]) == 64 {
			return strings.ToLower(fields[0]), nil
		}
	}
	return "", fmt.Errorf("%s names no digest of %s", sums, file)
}

// sumOf is the SHA-256 of a file, in hex.
func sumOf(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- paths of our own record
	if err != nil {
		return "", fmt.Errorf("open: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// writeFile writes a file whole or not at all: a reader, or a program that runs from it, keeps the old one.
func writeFile(path string, content []byte, mode os.FileMode) error {
	return replaceFile(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err //nolint:wrapcheck // wrapped by replaceFile
	})
}

// replaceFile is writeFile for content that is written in pieces.
func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = errors.Join(write(file), file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the error above is the one to tell
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
