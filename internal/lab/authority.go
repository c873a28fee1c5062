// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority makes certificates for the hosts that clients want to reach.
type authority struct {
	ca     *x509.Certificate
	signer crypto.Signer
	key    *ecdsa.PrivateKey // of all the certificates

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

func (p authorityPEM) parse() (*authority, error) {
	pair, err := tls.X509KeyPair(p.CertificatePEM, p.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the lab's CA: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("read the lab's CA: its key cannot sign")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the endpoint's key: %w", err)
	}
	return &authority{ca: pair.Leaf, signer: signer, key: key, issued: map[string]*tls.Certificate{}}, nil
}

// endpoint gives the certificate of the https endpoint.
func (a *authority) endpoint(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return a.issue("localhost")
}

const maxIssued = 1000 // so that a scanner cannot fill the memory

// issue gives the certificate of a host; localhost has the addresses of this machine, too.
func (a *authority) issue(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, found := a.issued[host]; found {
		return c, nil
	}
	if len(a.issued) >= maxIssued {
		clear(a.issued)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "ocihpc-lab"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: a.ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{host},
	}
	if host == "localhost" {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.ca, a.key.Public(), a.signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", host, err)
	}
	a.issued[host] = &tls.Certificate{Certificate: [][]byte{der, a.ca.Raw}, PrivateKey: a.key}
	return a.issued[host], nil
}
