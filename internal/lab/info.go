// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// Info is what clients of a lab need. It is in info.json of the state directory, too.
type Info struct {
	Dir string `json:"dir"`
	PID int    `json:"pid"` // of the lab's first process, as this machine counts

	// Endpoint takes every API of the region over http; HTTPSEndpoint does over TLS, trusted by CAFile.
	Endpoint      string `json:"endpoint"`
	HTTPSEndpoint string `json:"https_endpoint"`
	CAFile        string `json:"ca_file"`

	Region             string `json:"region"`
	TenancyOCID        string `json:"tenancy_ocid"`
	UserOCID           string `json:"user_ocid"`
	Fingerprint        string `json:"fingerprint"`
	KeyFile            string `json:"key_file"`            // the API key, PEM
	ConfigFile         string `json:"config_file"`         // the OCI configuration file, profile DEFAULT
	ResourceOCID       string `json:"resource_ocid"`       // of the resource that can be a principal
	ResourceTokenFile  string `json:"resource_token_file"` // its token, which vouches for the API key
	CompartmentID      string `json:"compartment_id"`
	AvailabilityDomain string `json:"availability_domain"`
	VCNID              string `json:"vcn_id"`
	SubnetID           string `json:"subnet_id"` // private, where GPU hosts belong
	PublicSubnetID     string `json:"public_subnet_id"`
	ImageID            string `json:"image_id"`

	// SSHPrivateKeyPath is opc's on the bastion; SSHAuthorizedKeys is its public half, for instances.
	SSHPrivateKeyPath string `json:"ssh_private_key_path"`
	SSHAuthorizedKeys string `json:"ssh_authorized_keys"`
	// The bastion; empty where instances have no hosts.
	BastionHost    string `json:"bastion_host"`
	BastionPort    int    `json:"bastion_port"`
	BastionUser    string `json:"bastion_user"`
	BastionHostKey string `json:"bastion_host_key"` // as in known_hosts: "ssh-ed25519 AAAA…"
}

// Environ gives the environment variables that make the provider and Terraform use the lab.
func (i Info) Environ() []string {
	return []string{
		"OCI_CONFIG_FILE=" + i.ConfigFile,
		"OCIHPC_ENDPOINT=" + i.Endpoint,
		"TF_VAR_compartment_id=" + i.CompartmentID,
		"TF_VAR_availability_domain=" + i.AvailabilityDomain,
		"TF_VAR_subnet_id=" + i.SubnetID,
		"TF_VAR_image_id=" + i.ImageID,
		"TF_VAR_ssh_authorized_keys=" + i.SSHAuthorizedKeys,
		"TF_VAR_ssh_private_key_path=" + i.SSHPrivateKeyPath,
		"TF_VAR_bastion_host=" + i.BastionHost,
		"TF_VAR_bastion_port=" + strconv.Itoa(i.BastionPort),
		"TF_VAR_bastion_user=" + i.BastionUser,
		"TF_VAR_bastion_host_key=" + i.BastionHostKey,
		"TF_VAR_rdma=false", // hosts have no adapters
	}
}

// Exports gives environment variables as lines for a shell.
func Exports(environ []string) string {
	var text strings.Builder
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&text, "export %s=%s\n", name, shellescape.Quote(value))
	}
	return text.String()
}

// Names of the files in a state directory; all are for their owner alone. The first three outlive a lab.
const (
	labFile     = "lab.json"  // the daemon's configuration, with all keys
	regionFile  = "region.db" // the region's state
	disksDir    = "disks"     // of hosts
	infoFile    = "info.json"
	envFile     = "env"
	logFile     = "lab.log"
	requestFile = "requests.log"
	controlFile = "control.sock"
	apiKeyFile  = "api_key.pem" // #nosec G101 -- a name
	tokenFile   = "resource_token"
	configFile  = "config"
	caFile      = "ca.pem"
	sshKeyFile  = "id_ed25519"
)

// removeFiles removes what a state directory has of a lab, but for its disks. The logs stay.
func removeFiles(dir string) error {
	var errs error
	for _, name := range []string{
		labFile, regionFile, infoFile, envFile, controlFile, apiKeyFile, tokenFile, configFile, caFile, sshKeyFile, sshKeyFile + ".pub",
	} {
		for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, name+newSuffix)} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = errors.Join(errs, err)
			}
		}
	}
	return errs
}

// write writes info.json and env.
func (i Info) write() error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the lab's description: %w", err)
	}
	return errors.Join(
		writeFile(filepath.Join(i.Dir, infoFile), append(text, '\n')),
		writeFile(filepath.Join(i.Dir, envFile), []byte(Exports(i.Environ()))),
	)
}

// readInfo reads info.json of a state directory. It is there from the end of a lab's start on.
func readInfo(dir string) (Info, error) {
	text, err := os.ReadFile(filepath.Join(dir, infoFile)) // #nosec G304 -- the caller's directory
	if err != nil {
		return Info{}, fmt.Errorf("read the lab's description: %w", err)
	}
	var info Info
	if err := json.Unmarshal(text, &info); err != nil {
		return Info{}, fmt.Errorf("decode the lab's description: %w", err)
	}
	return info, nil
}

// newSuffix names a file that is about to replace another one.
const newSuffix = ".new"

// writeFile replaces a file, readable by its owner alone. Whoever is killed in it leaves the old file.
func writeFile(path string, text []byte) error {
	if err := os.Remove(path + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := os.WriteFile(path+newSuffix, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+newSuffix, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}
