// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"crypto"
	"crypto/md5" //nolint:gosec // OCI's fingerprints are MD5
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fingerprint of an API key as OCI writes it: colon-separated MD5 of the public key's PKIX DER form.
func Fingerprint(key *rsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encode public key: %w", err)
	}
	sum := md5.Sum(der) //nolint:gosec // see the import
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02x", b)
	}
	return strings.Join(parts, ":"), nil
}

// keyring knows users by the keyId of their signatures.
type keyring map[string]User

func newKeyring(c *Config) (keyring, error) {
	k := keyring{}
	for _, u := range c.Users {
		fingerprint, err := Fingerprint(u.Key)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", u.ID, err)
		}
		k[c.TenancyID+"/"+u.ID+"/"+fingerprint] = u
	}
	for token, u := range c.Tokens {
		k["ST$"+token] = u
	}
	return k, nil
}

var signatureParameter = regexp.MustCompile(`(\w+)="([^"]*)"`)

// verify checks a signature by draft-cavage-http-signatures-08 with OCI's mandatory headers. It gives
// the signer, or 401 without a reason, as OCI does.
func (k keyring) verify(r *http.Request, body []byte, now time.Time) (User, error) {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Signature") {
		return User{}, notAuthenticated()
	}
	parameters := map[string]string{}
	for _, m := range signatureParameter.FindAllStringSubmatch(rest, -1) {
		parameters[m[1]] = m[2]
	}
	user, known := k[parameters["keyId"]]
	signed := strings.Fields(strings.ToLower(parameters["headers"]))
	if !known || parameters["algorithm"] != "rsa-sha256" || !coversMandatory(r.Method, signed) ||
		!freshDate(r, signed, now) || !bodyMatches(r, signed, body) {
		return User{}, notAuthenticated()
	}
	signature, err := base64.StdEncoding.DecodeString(parameters["signature"])
	if err != nil {
		return User{}, notAuthenticated()
	}
	digest := sha256.Sum256([]byte(signingString(r, signed)))
	if rsa.VerifyPKCS1v15(user.Key, crypto.SHA256, digest[:], signature) != nil {
		return User{}, notAuthenticated()
	}
	return user, nil
}

func coversMandatory(method string, signed []string) bool {
	mandatory := []string{"(request-target)", "host"}
	if method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
		mandatory = append(mandatory, "content-length", "content-type", "x-content-sha256")
	}
	for _, h := range mandatory {
		if !slices.Contains(signed, h) {
			return false
		}
	}
	return slices.Contains(signed, "date") || slices.Contains(signed, "x-date")
}

func freshDate(r *http.Request, signed []string, now time.Time) bool {
	header := "Date"
	if slices.Contains(signed, "x-date") {
		header = "X-Date"
	}
	date, err := http.ParseTime(r.Header.Get(header))
	return err == nil && date.Sub(now).Abs() <= maxClockSkew
}

// bodyMatches checks the digest of a body. A request without a body needs none.
func bodyMatches(r *http.Request, signed []string, body []byte) bool {
	if !slices.Contains(signed, "x-content-sha256") {
		return len(body) == 0
	}
	sum := sha256.Sum256(body)
	want := base64.StdEncoding.EncodeToString(sum[:])
	return int64(len(body)) == r.ContentLength &&
		subtle.ConstantTimeCompare([]byte(want), []byte(r.Header.Get("X-Content-Sha256"))) == 1
}

func signingString(r *http.Request, signed []string) string {
	lines := make([]string, len(signed))
	for i, name := range signed {
		var value string
		switch name {
		case "(request-target)":
			value = strings.ToLower(r.Method) + " " + r.URL.RequestURI()
		case "host":
			value = r.Host // the server takes it out of the header
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		default:
			value = r.Header.Get(name)
		}
		lines[i] = name + ": " + value
	}
	return strings.Join(lines, "\n")
}
