// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// region's names; the tenancy's prefix comes before the availability domain's.
const (
	regionName         = "us-lab-1"
	availabilityDomain = "Lab1:US-LAB-1-AD-1"
)

// newOCID draws an OCID. Those of global kinds name no region.
func newOCID(kind string) string {
	random := make([]byte, 38)
	_, _ = rand.Read(random) // It never fails.
	unique := strings.ToLower(base32.StdEncoding.EncodeToString(random))[:60]
	region := regionName
	if kind == "tenancy" || kind == "user" || kind == "compartment" {
		region = ""
	}
	return fmt.Sprintf("ocid1.%s.oc1.%s.%s", kind, region, unique)
}

// writeAPIKey makes the user's API key and the OCI configuration file, and notes them in info.
func writeAPIKey(info *Info) (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the API key: %w", err)
	}
	if info.Fingerprint, err = ocisim.Fingerprint(&key.PublicKey); err != nil {
		return nil, err
	}
	info.KeyFile = filepath.Join(info.Dir, apiKeyFile)
	info.ConfigFile = filepath.Join(info.Dir, configFile)
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("[DEFAULT]\nuser=%s\nfingerprint=%s\ntenancy=%s\nregion=%s\nkey_file=%s\n",
		info.UserOCID, info.Fingerprint, info.TenancyOCID, info.Region, info.KeyFile)
	return key, errors.Join(writeFile(info.KeyFile, keyPEM), writeFile(info.ConfigFile, []byte(config)))
}

// authorityPEM is the lab's certificate authority on its way to the daemon.
type authorityPEM struct {
	CertificatePEM []byte `json:"certificate_pem"`
	KeyPEM         []byte `json:"key_pem"`
}

// writeCA makes a certificate authority for this lab alone. It can vouch for nothing but this machine and
// Oracle's domain, so that trusting it endangers no other connection.
func writeCA(info *Info) (authorityPEM, error) {
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ocihpc-lab CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{"localhost", oracleDomain},
		PermittedIPRanges: []*net.IPNet{
			{IP: net.IPv4(127, 0, 0, 1).To4(), Mask: net.CIDRMask(32, 32)}, {IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
		},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authorityPEM{}, fmt.Errorf("make the CA's key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		return authorityPEM{}, fmt.Errorf("sign the CA's certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return authorityPEM{}, err
	}
	certificatePEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	info.CAFile = filepath.Join(info.Dir, caFile)
	return authorityPEM{certificatePEM, keyPEM}, writeFile(info.CAFile, certificatePEM)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
