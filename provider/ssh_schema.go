// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// hostKeyPattern is a public key as in known_hosts, without the host.
var hostKeyPattern = regexp.MustCompile(`^(ssh|ecdsa|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/=]+$`)

func sshAttribute() schema.Attribute {
	const keyDescription = "File with the private key, read on apply and never stored. " +
		"Default: the provider's `ssh_private_key`, else the SSH agent."
	port := func() schema.Int64Attribute {
		return schema.Int64Attribute{
			MarkdownDescription: "Port of the SSH server. Default: 22.",
			Optional:            true, Computed: true,
			Default:    int64default.StaticInt64(22),
			Validators: []validator.Int64{int64validator.Between(1, 65535)},
		}
	}
	user := func() schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: "User to log in as. Default: `opc`.",
			Optional:            true, Computed: true,
			Default: stringdefault.StaticString("opc"),
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How to log in to the nodes. Host keys are always checked: a key is accepted on first contact, " +
			"recorded in `host_keys`, and refused when it changes.",
		Required: true,
		Attributes: map[string]schema.Attribute{
			"user":             user(),
			"port":             port(),
			"private_key_path": schema.StringAttribute{MarkdownDescription: keyDescription, Optional: true},
			"bastion": schema.SingleNestedAttribute{
				MarkdownDescription: "Bastion to go through. Default: the nodes are reached directly.",
				Optional:            true,
				Attributes: map[string]schema.Attribute{
					"host": schema.StringAttribute{MarkdownDescription: "Address of the bastion.", Required: true},
					"port": port(),
					"user": user(),
					"private_key_path": schema.StringAttribute{
						MarkdownDescription: "File with the private key for the bastion. Default: that of the nodes.",
						Optional:            true,
					},
					"host_key": schema.StringAttribute{
						MarkdownDescription: "Host key of the bastion as in known_hosts, without the host (`ssh-ed25519 AAAA…`). " +
							"Default: accepted on first contact and recorded.",
						Optional: true,
						Validators: []validator.String{stringvalidator.RegexMatches(hostKeyPattern,
							"must be a host key as in known_hosts, without the host: ssh-ed25519 AAAA…")},
					},
				},
			},
		},
	}
}

func hostKeysAttribute() schema.Attribute {
	return schema.MapAttribute{
		MarkdownDescription: "Host keys that were seen, by instance OCID (or address) and `bastion`. A host that shows another one later is refused.",
		Computed:            true,
		ElementType:         types.StringType,
	}
}
