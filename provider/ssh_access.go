// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

type sshModel struct {
	User           types.String  `tfsdk:"user"`
	Port           types.Int64   `tfsdk:"port"`
	PrivateKeyPath types.String  `tfsdk:"private_key_path"`
	Bastion        *bastionModel `tfsdk:"bastion"`
}

type bastionModel struct {
	Host           types.String `tfsdk:"host"`
	Port           types.Int64  `tfsdk:"port"`
	User           types.String `tfsdk:"user"`
	PrivateKeyPath types.String `tfsdk:"private_key_path"`
	HostKey        types.String `tfsdk:"host_key"`
}

// toJob is how the head node logs in to the others.
func (m *sshModel) toJob() job.SSH {
	return job.SSH{User: m.User.ValueString(), Port: int(m.Port.ValueInt64())}
}

// sshAccess is remote.Access with what must be closed after use.
type sshAccess struct {
	remote.Access
	agent net.Conn
}

func (a *sshAccess) close() {
	if a.agent != nil {
		_ = a.agent.Close() // Nothing was written that could be lost.
	}
}

// access resolves the keys: the attribute's file, else the provider's key, else the SSH agent.
func (m *sshModel) access(ctx context.Context, providerKey string, known map[string]string) (*sshAccess, error) {
	a := &sshAccess{Access: remote.Access{
		User: m.User.ValueString(), Port: int(m.Port.ValueInt64()), HostKeys: known,
	}}
	signers, err := a.signers(ctx, m.PrivateKeyPath.ValueString(), providerKey)
	if err != nil {
		return nil, err
	}
	a.Signers = signers
	if m.Bastion == nil {
		return a, nil
	}
	if file := m.Bastion.PrivateKeyPath.ValueString(); file != "" {
		if signers, err = signersFromFile(file); err != nil {
			a.close()
			return nil, err
		}
	}
	a.Bastion = &remote.Target{
		Name: "bastion", Address: m.Bastion.Host.ValueString(), Port: int(m.Bastion.Port.ValueInt64()),
		User: m.Bastion.User.ValueString(), Signers: signers, HostKey: m.Bastion.HostKey.ValueString(),
	}
	return a, nil
}

func (a *sshAccess) signers(ctx context.Context, file, providerKey string) ([]ssh.Signer, error) {
	switch {
	case file != "":
		return signersFromFile(file)
	case providerKey != "":
		return parseSigner([]byte(providerKey), "the provider's ssh_private_key")
	}
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, errors.New("no private key: set ssh.private_key_path or the provider's ssh_private_key, or start an SSH agent")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to the SSH agent at %s (SSH_AUTH_SOCK): %w", socket, err)
	}
	signers, err := agent.NewClient(conn).Signers()
	if err == nil && len(signers) == 0 {
		err = errors.New("it holds no key: add one with ssh-add")
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("ask the SSH agent at %s for its keys: %w", socket, err)
	}
	a.agent = conn
	return signers, nil
}

func signersFromFile(file string) ([]ssh.Signer, error) {
	file, err := oci.ExpandHome(file)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the private key: %w", err)
	}
	return parseSigner(text, file)
}

func parseSigner(text []byte, origin string) ([]ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, fmt.Errorf("%s has a passphrase: add the key to an SSH agent and leave private_key_path out", origin)
	case err != nil:
		return nil, fmt.Errorf("read the private key in %s, which must be in OpenSSH or PEM form: %w", origin, err)
	}
	return []ssh.Signer{signer}, nil
}
