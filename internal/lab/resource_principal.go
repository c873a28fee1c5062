// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// ResourcePrincipalEnviron gives the environment variables that make a client a resource of the region's, such as a job of
// Resource Manager or a function: a session token and the key that it vouches for, as files (version 2.2 of OCI's
// resource principals, which the SDKs read).
func (i Info) ResourcePrincipalEnviron() []string {
	return []string{
		"OCI_RESOURCE_PRINCIPAL_VERSION=2.2",
		"OCI_RESOURCE_PRINCIPAL_RPST=" + i.ResourceTokenFile,
		"OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM=" + i.KeyFile,
		"OCI_RESOURCE_PRINCIPAL_REGION=" + i.Region,
	}
}

// writeResourcePrincipal makes the session token of a resource (a JWT), and notes it in info. The session's key is the API
// key: another one would cost each start a tenth of a second.
func writeResourcePrincipal(info *Info, key *rsa.PrivateKey) (token string, err error) {
	info.ResourceOCID = newOCID("ormjob")
	info.ResourceTokenFile = filepath.Join(info.Dir, tokenFile)
	now := time.Now()
	part := func(claims map[string]any) string {
		text, _ := json.Marshal(claims) // of strings and numbers: it never fails
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]any{"alg": "RS256", "typ": "JWT"}) + "." + part(map[string]any{
		"sub": info.ResourceOCID, "iat": now.Unix(), "exp": now.AddDate(1, 0, 0).Unix(),
		"res_tenant": info.TenancyOCID, "res_compartment": info.CompartmentID,
	})
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign the resource's token: %w", err)
	}
	token = signed + "." + base64.RawURLEncoding.EncodeToString(signature)
	return token, writeFile(info.ResourceTokenFile, []byte(token))
}
