// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// clean takes the variables of the machine that the test runs on out of the test.
func clean(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AUTH", "TENANCY_OCID", "USER_OCID", "FINGERPRINT", "PRIVATE_KEY", "PRIVATE_KEY_PATH",
		"PRIVATE_KEY_PASSWORD", "REGION", "CONFIG_FILE_PROFILE", "CONFIG_FILE"} {
		t.Setenv("OCI_"+name, "")
		t.Setenv("TF_VAR_"+strings.ToLower(name), "")
	}
	t.Setenv("OCIHPC_ENDPOINT", "")
}

// profile writes a configuration file with one profile.
func profile(t *testing.T, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, key := filepath.Join(dir, "config"), filepath.Join(dir, "key.pem")
	text := fmt.Sprintf("[LAB]\nkey_file=%s\n%s\n", key, strings.Join(lines, "\n"))
	for name, content := range map[string]string{file: text, key: acctest.KeyPEM()} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// expectAccess expects that the region accepts the credentials.
func expectAccess(t *testing.T, config oci.Config) {
	t.Helper()
	clients, err := oci.NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	names, err := clients.AvailabilityDomains(t.Context())
	if err != nil || len(names) != 1 || names[0] != acctest.AvailabilityDomain {
		t.Errorf("availability domains %v, error %v", names, err)
	}
}

func TestAPIKeyFromTheEnvironment(t *testing.T) {
	clean(t)
	region := acctest.StartRegion(t, nil)
	t.Setenv("OCIHPC_ENDPOINT", region.Endpoint)
	t.Setenv("TF_VAR_tenancy_ocid", acctest.TenancyID)
	t.Setenv("OCI_TENANCY_OCID", "another: TF_VAR_ goes first")
	t.Setenv("OCI_USER_OCID", acctest.UserID)
	t.Setenv("OCI_FINGERPRINT", acctest.Fingerprint())
	t.Setenv("OCI_PRIVATE_KEY", acctest.KeyPEM())
	t.Setenv("OCI_REGION", acctest.RegionName)
	t.Setenv("HOME", "") // no file is asked for
	expectAccess(t, oci.Config{}.WithEnvironment())
}

func TestAPIKeyPartlyFromAProfile(t *testing.T) {
	clean(t)
	region := acctest.StartRegion(t, nil)
	t.Setenv("OCI_CONFIG_FILE", profile(t, "tenancy="+acctest.TenancyID, "user=someone else", "fingerprint="+acctest.Fingerprint(), "region="+acctest.RegionName))
	expectAccess(t, oci.Config{ConfigFileProfile: "LAB", UserOCID: acctest.UserID, Endpoint: region.Endpoint}.WithEnvironment())
}

// The session's token ends with a line end, as many editors and tools write it.
func TestSecurityToken(t *testing.T) {
	clean(t)
	region := acctest.StartRegion(t, func(c *ocisim.Config) {
		c.Tokens = map[string]ocisim.User{"session": c.Users[0]}
		c.Users = nil
	})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("session\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := profile(t, "tenancy="+acctest.TenancyID, "fingerprint="+acctest.Fingerprint(), "region="+acctest.RegionName, "security_token_file="+token)
	config := oci.Config{Auth: oci.SecurityToken, ConfigFile: file, ConfigFileProfile: "LAB", Endpoint: region.Endpoint}
	expectAccess(t, config)

	config.ConfigFileProfile = ""
	if _, err := oci.NewClients(config); err == nil || !strings.Contains(err.Error(), "config_file_profile") {
		t.Errorf("without a profile: %v", err)
	}
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	clean(t)
	whole := oci.Config{
		TenancyOCID: acctest.TenancyID, UserOCID: acctest.UserID, Fingerprint: acctest.Fingerprint(), PrivateKey: acctest.KeyPEM(),
		Region: acctest.RegionName, ConfigFile: filepath.Join(t.TempDir(), "none"),
	}
	if _, err := oci.NewClients(whole); err != nil {
		t.Fatalf("without a configuration file: %v", err)
	}
	for name, test := range map[string]struct {
		change func(*oci.Config)
		text   string
	}{
		"no tenancy":           {func(c *oci.Config) { c.TenancyOCID = "" }, "tenancy_ocid is not set"},
		"no user":              {func(c *oci.Config) { c.UserOCID = "" }, "user_ocid is not set"},
		"no key":               {func(c *oci.Config) { c.PrivateKey = "" }, "neither private_key nor private_key_path"},
		"no such key file":     {func(c *oci.Config) { c.PrivateKey, c.PrivateKeyPath = "", "/nowhere" }, "private_key_path"},
		"not a key":            {func(c *oci.Config) { c.PrivateKey = "secret" }, "private_key"},
		"no region":            {func(c *oci.Config) { c.Region = "" }, "no region"},
		"unknown auth":         {func(c *oci.Config) { c.Auth = "Password" }, "must be one of"},
		"http to another host": {func(c *oci.Config) { c.Endpoint = "http://192.0.2.1:80" }, "to this machine"},
		"endpoint with a path": {func(c *oci.Config) { c.Endpoint = "https://lab.test/20160918" }, "nothing more"},
		"endpoint without one": {func(c *oci.Config) { c.Endpoint = "lab.test:8443" }, "endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			config := whole
			test.change(&config)
			_, err := oci.NewClients(config)
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error is %v, want %q in it", err, test.text)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the key is in the message: %v", err)
			}
		})
	}
}
