// SPDX-License-Identifier: MPL-2.0

// Package oci is Oracle Cloud Infrastructure as this project uses it: clients with one retry policy,
// typed errors with advice, waiting, and the life cycle of a GPU cluster.
package oci

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Auth is a way to authenticate, named as the official provider names it.
type Auth string

// Ways to authenticate.
const (
	APIKey            Auth = "ApiKey"
	SecurityToken     Auth = "SecurityToken"
	InstancePrincipal Auth = "InstancePrincipal"
	ResourcePrincipal Auth = "ResourcePrincipal"
)

// Auths lists the ways to authenticate.
var Auths = []Auth{APIKey, SecurityToken, InstancePrincipal, ResourcePrincipal}

// Config says which region to talk to and as whom. An empty field means that the user did not say.
type Config struct {
	Auth               Auth
	TenancyOCID        string
	UserOCID           string
	Fingerprint        string
	PrivateKey         string // PEM
	PrivateKeyPath     string
	PrivateKeyPassword string
	Region             string
	ConfigFileProfile  string
	// ConfigFile is the path of the OCI configuration file; empty means ~/.oci/config.
	ConfigFile string
	// Endpoint replaces the address of every service, for a local OCI. Plain http only to loopback.
	Endpoint string
	// Version of the product, for the user agent.
	Version string
}

// WithEnvironment fills what is empty from the environment: TF_VAR_<name>, then OCI_<NAME>, as the
// official provider does; the configuration file from OCI_CONFIG_FILE, the endpoint from OCIHPC_ENDPOINT.
func (c Config) WithEnvironment() Config {
	for name, field := range map[string]*string{
		"tenancy_ocid":         &c.TenancyOCID,
		"user_ocid":            &c.UserOCID,
		"fingerprint":          &c.Fingerprint,
		"private_key":          &c.PrivateKey,
		"private_key_path":     &c.PrivateKeyPath,
		"private_key_password": &c.PrivateKeyPassword,
		"region":               &c.Region,
		"config_file_profile":  &c.ConfigFileProfile,
	} {
		fill(field, "TF_VAR_"+name, "OCI_"+strings.ToUpper(name))
	}
	fill((*string)(&c.Auth), "TF_VAR_auth", "OCI_AUTH")
	fill(&c.ConfigFile, "OCI_CONFIG_FILE")
	fill(&c.Endpoint, "OCIHPC_ENDPOINT")
	return c
}

func fill(field *string, variables ...string) {
	for _, variable := range variables {
		if *field == "" {
			*field = os.Getenv(variable)
		}
	}
}

// checkEndpoint refuses an endpoint over which requests could be read or changed on their way.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("read the endpoint: %w", err)
	}
	switch {
	case u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("the endpoint %q must be scheme://host:port and nothing more", endpoint)
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("the endpoint %q must have the scheme https, or http to this machine", endpoint)
	case u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback():
		return nil
	}
	return fmt.Errorf("the endpoint %q is of another machine: plain http is allowed to this machine (127.0.0.1, ::1, localhost) only", endpoint)
}

// configFile gives the path of the configuration file with ~ resolved.
func (c Config) configFile() (string, error) {
	file := c.ConfigFile
	if file == "" {
		file = "~/.oci/config"
	}
	return ExpandHome(file)
}

// ExpandHome gives a path that starts with ~/ in full, as the official provider reads such paths.
func ExpandHome(file string) (string, error) {
	rest, ok := strings.CutPrefix(file, "~/")
	if !ok {
		return file, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory for %s: %w", file, err)
	}
	return filepath.Join(home, rest), nil
}

// errNoRegion is what every client fails with when nothing names a region.
var errNoRegion = errors.New("no region: set region in the provider configuration, OCI_REGION, or region in the profile of the configuration file")
