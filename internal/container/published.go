// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// smallClient reads manifests and lists of digests; archives are downloaded by setup.Download.
var smallClient = &http.Client{Transport: setup.Transport, Timeout: time.Minute}

// get reads a small file from an address.
func get(ctx context.Context, address string, limit int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", address, err)
	}
	response, err := smallClient.Do(request)
	if err != nil {
		return nil, setup.Advise(fmt.Errorf("download: %w", err), // it names the address
			"see whether the node reaches that address: its route, DNS, firewall, and proxy (https_proxy in /etc/environment)")
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, setup.Advise(fmt.Errorf("download %s: the server says %s", address, response.Status), "see whether the address is right, and whether the server has that file")
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", address, err)
	}
	return text, nil
}

// publishedSum finds a file's digest in a vendor's list of them.
func publishedSum(ctx context.Context, sums, file string) (string, error) {
	text, err := get(ctx, sums, manifestLimit)
	if err != nil {
		return "", err
	}
	if sum := sumIn(string(text), file); sum != "" {
		return sum, nil
	}
	return "", fmt.Errorf("%s names no digest of %s", sums, file)
}

// sumIn finds a file's SHA-256 in the output of sha256sum; empty when it is not there.
func sumIn(list, file string) string {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 2 && len(fields[0]) == 64 && path.Base(strings.TrimPrefix(fields[1], "*")) == file {
			return strings.ToLower(fields[0])
		}
	}
	return ""
}
