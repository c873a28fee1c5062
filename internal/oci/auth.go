// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/common/auth"
)

// credentials makes the SDK's view of the configuration. It may ask the instance's metadata service.
func (c Config) credentials() (common.ConfigurationProvider, error) {
	provider, err := c.principal()
	if err != nil {
		return nil, err
	}
	region := c.Region
	if region == "" {
		if region, err = provider.Region(); err != nil || region == "" {
			return nil, errNoRegion
		}
	}
	return inRegion{provider, string(common.StringToRegion(region))}, nil
}

func (c Config) principal() (common.ConfigurationProvider, error) {
	switch c.Auth {
	case "", APIKey:
		return c.apiKey()
	case SecurityToken:
		return c.securityToken()
	case InstancePrincipal:
		provider, err := auth.InstancePrincipalConfigurationProvider()
		if err != nil {
			return nil, fmt.Errorf("authenticate as instance principal (this works only on an OCI instance): %w", err)
		}
		return provider, nil
	case ResourcePrincipal:
		provider, err := auth.ResourcePrincipalConfigurationProvider()
		if err != nil {
			return nil, fmt.Errorf("authenticate as resource principal (this works only where OCI sets OCI_RESOURCE_PRINCIPAL_VERSION): %w", err)
		}
		return provider, nil
	}
	return nil, fmt.Errorf("the provider's auth is %q: it must be one of %v", c.Auth, Auths)
}

// inRegion is a principal that works in a region of the user's choice.
type inRegion struct {
	common.ConfigurationProvider
	region string
}

func (p inRegion) Region() (string, error) { return p.region, nil }

// KeyID drops the line end of a token file, which would break the Authorization header.
func (p inRegion) KeyID() (string, error) {
	id, err := p.ConfigurationProvider.KeyID()
	return strings.TrimSpace(id), err
}

// Refreshable lets the SDK ask again with a fresh token after a 401.
func (p inRegion) Refreshable() bool {
	refreshable, ok := p.ConfigurationProvider.(common.RefreshableConfigurationProvider)
	return ok && refreshable.Refreshable()
}

// securityToken signs with the session that `oci session authenticate` left in a profile.
func (c Config) securityToken() (common.ConfigurationProvider, error) {
	if c.ConfigFileProfile == "" {
		return nil, fmt.Errorf("auth %s: config_file_profile must name the profile that `oci session authenticate` wrote", SecurityToken)
	}
	file, err := c.configFile()
	if err != nil {
		return nil, err
	}
	provider, err := common.ConfigurationProviderForSessionTokenWithProfile(file, c.ConfigFileProfile, c.PrivateKeyPassword)
	if err != nil {
		return nil, fmt.Errorf("read the session of profile %s: %w", c.ConfigFileProfile, brief(err))
	}
	if _, err := provider.KeyID(); err != nil {
		return nil, fmt.Errorf("read the session token of profile %s in %s: %w", c.ConfigFileProfile, file, brief(err))
	}
	return provider, nil
}

// apiKey takes each value from the provider's configuration or, where that is silent, from the profile.
func (c Config) apiKey() (common.ConfigurationProvider, error) {
	key := apiKey{tenancy: c.TenancyOCID, user: c.UserOCID, fingerprint: c.Fingerprint, region: c.Region}
	if key.tenancy != "" && key.user != "" && key.fingerprint != "" && key.region != "" && (c.PrivateKey != "" || c.PrivateKeyPath != "") {
		var err error
		key.private, err = c.privateKey(nil) // a job of Resource Manager has neither a file nor a home directory
		return key, err
	}
	file, err := c.configFile()
	if err != nil {
		return nil, err
	}
	profile := c.ConfigFileProfile
	if profile == "" {
		profile = "DEFAULT"
	}
	fromFile, err := common.ConfigurationProviderFromFileWithProfile(file, profile, c.PrivateKeyPassword)
	if err != nil {
		return nil, fmt.Errorf("read profile %s of %s: %w", profile, file, err)
	}
	for _, value := range []struct {
		name  string
		field *string
		read  func() (string, error)
	}{
		{"tenancy_ocid", &key.tenancy, fromFile.TenancyOCID},
		{"user_ocid", &key.user, fromFile.UserOCID},
		{"fingerprint", &key.fingerprint, fromFile.KeyFingerprint},
	} {
		if *value.field != "" {
			continue
		}
		if *value.field, err = value.read(); err != nil {
			if _, missing := os.Stat(file); errors.Is(missing, fs.ErrNotExist) {
				return nil, fmt.Errorf("the provider's %s is not set, and the OCI configuration file %s does not exist: "+
					"write it with `oci setup config`, or set OCI_CONFIG_FILE or the provider's attributes", value.name, file)
			}
			return nil, fmt.Errorf("the provider's %s is not set, and profile %s of %s does not give it: %w", value.name, profile, file, brief(err))
		}
	}
	if key.region == "" {
		key.region, _ = fromFile.Region() // No region is an error of its own, with all the places to set it.
	}
	if key.private, err = c.privateKey(fromFile); err != nil {
		return nil, err
	}
	return key, nil
}

// privateKey is read from the profile only where the provider's configuration names none.
func (c Config) privateKey(fromFile common.ConfigurationProvider) (*rsa.PrivateKey, error) {
	pem, name := []byte(c.PrivateKey), "private_key"
	if len(pem) == 0 && c.PrivateKeyPath != "" {
		file, err := ExpandHome(c.PrivateKeyPath)
		if err != nil {
			return nil, err
		}
		if pem, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("read the provider's private_key_path: %w", err)
		}
		name = "private_key_path"
	}
	if len(pem) == 0 {
		key, err := fromFile.PrivateRSAKey()
		if err != nil {
			return nil, fmt.Errorf("neither private_key nor private_key_path is set, and the profile gives no key: %w", brief(err))
		}
		return key, nil
	}
	var password []byte
	if c.PrivateKeyPassword != "" {
		password = []byte(c.PrivateKeyPassword)
	}
	key, err := common.PrivateKeyFromBytesWithPassword(pem, password)
	if err != nil {
		return nil, fmt.Errorf("read the provider's %s: %w", name, err)
	}
	return key, nil
}

// brief cuts the SDK's references to its web pages, one for each layer, from an error.
func brief(err error) error {
	text, _, found := strings.Cut(err.Error(), "\nFor more info")
	if !found {
		return err
	}
	return errors.New(text)
}

// apiKey is a user's API signing key.
type apiKey struct {
	tenancy, user, fingerprint, region string
	private                            *rsa.PrivateKey
}

func (k apiKey) PrivateRSAKey() (*rsa.PrivateKey, error) { return k.private, nil }
func (k apiKey) TenancyOCID() (string, error)            { return k.tenancy, nil }
func (k apiKey) UserOCID() (string, error)               { return k.user, nil }
func (k apiKey) KeyFingerprint() (string, error)         { return k.fingerprint, nil }
func (k apiKey) Region() (string, error)                 { return k.region, nil }

func (k apiKey) KeyID() (string, error) {
	return k.tenancy + "/" + k.user + "/" + k.fingerprint, nil
}

func (k apiKey) AuthType() (common.AuthConfig, error) {
	return common.AuthConfig{AuthType: common.UserPrincipal}, nil
}
