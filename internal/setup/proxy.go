// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

// Transport reaches what is outside as the node does: through its proxy, where it has one.
var Transport = &http.Transport{
	Proxy:                 func(r *http.Request) (*url.URL, error) { return proxies()(r.URL) },
	DialContext:           (&net.Dialer{Timeout: connectLimit}).DialContext,
	TLSHandshakeTimeout:   connectLimit,
	ResponseHeaderTimeout: answerLimit,
	DisableCompression:    true, // ranges count bytes of the file
}

// client downloads. It sets no limit on a whole download: that is the context's.
var client = &http.Client{Transport: Transport}

// proxies gives the proxy for an address, by the usual variables. sudo keeps none, and a command over SSH gets none from
// the files that login shells read: what these set counts, too.
var proxies = sync.OnceValue(func() func(*url.URL) (*url.URL, error) {
	set := map[string]string{}
	for _, file := range []string{"/etc/environment", "/etc/profile.d/ocihpc-proxy.sh"} {
		text, _ := os.ReadFile(file) // without it nothing is set
		for line := range strings.Lines(string(text)) {
			name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
			if ok {
				set[strings.ToLower(name)] = strings.Trim(value, `"'`)
			}
		}
	}
	of := func(name string) string { return cmp.Or(os.Getenv(name), os.Getenv(strings.ToUpper(name)), set[name]) }
	return (&httpproxy.Config{HTTPProxy: of("http_proxy"), HTTPSProxy: of("https_proxy"), NoProxy: of("no_proxy")}).ProxyFunc()
})
