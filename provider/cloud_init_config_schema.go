// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"
	"strings"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/cloudinit"
)

const cloudInitConfigDescription = "Describes a GPU node and gives the cloud-config (cloud-init user data) that sets it up, checked in the plan, before a node boots.\n\n" +
	"What is set up on a node can be repeated without harm: it runs at each boot and leaves alone what is done. The log is in `" + cloudinit.LogPath +
	"`; `" + cloudinit.StatusPath + "` has one JSON object a step with its exit status, seconds and message. " +
	"A step that fails ends the set-up and shows as an error in `cloud-init status`.\n\n" +
	"There is a data source and a resource of this name, over the same attributes. The cloud-config is a pure function of them, so the **data source** " +
	"is the natural form: nothing is kept in step, and the text is known in the plan. The **resource** only adds a life cycle: the cloud-config stays in the state, " +
	"and the plan shows a change as a change of `sha256`.\n\n" +
	"OCI reads user data only when an instance is launched: a change reaches nodes that are launched after it."

// Descriptions of the attributes, for both schemas.
var cloudInitConfigDescriptions = map[string]string{
	"shape": "Shape of the node, such as `BM.GPU4.8`, or `generic` for any other. It decides whether `nvme` makes sense and how many devices are expected; " +
		"a change alters the cloud-config only in that number.",
	"timezone":  "Time zone in the IANA form, such as `Asia/Tokyo`. Default: that of the image.",
	"grow_root": "Whether the root file system grows to the size of the boot volume, by `oci-growfs` where the image has it. Default: true.",
	"firewall":  "The host firewall, firewalld. Default: as in the image, where it blocks MPI and NCCL between nodes.",
	"firewall.enabled": "Whether firewalld is on. Where it is off, the security lists of the subnet alone decide what reaches the node. " +
		"On an image without firewalld, false changes nothing and true fails.",
	"nvme": "One XFS file system on all local NVMe devices but the boot disk. The devices are found at boot; one that holds anything else stops the set-up, and nothing on it is lost. " +
		"The file system is found again after a reboot and a change of the boot volume. An empty object takes the defaults. Default: the devices are left alone.",
	"nvme.layout": fmt.Sprintf("How LVM joins the devices: %s. `lvm_striped` has the bandwidth of all devices. Default: `%s`. "+
		"An existing volume keeps its layout.", codeList(cloudinit.Layouts()), cloudinit.DefaultNVMe().Layout),
	"nvme.mount_point":        "Directory where it is mounted. Default: `" + cloudinit.DefaultNVMe().MountPoint + "`.",
	"nvme.label":              "Label of the file system, of 1 to 12 characters. Default: `" + cloudinit.DefaultNVMe().Label + "`.",
	"nvme.mount_options":      "Mount options, separated by commas. Default: `" + cloudinit.DefaultNVMe().MountOptions + "`; `nofail` lets a node with a broken device boot.",
	"packages":                "Packages to install from the repositories that the image and `write_files` define, in the words of the image's package manager. Default: none.",
	"write_files":             "Files to write before anything else is done, by absolute path; root owns them. Default: none.",
	"write_files.content":     "Content of the file, as text.",
	"write_files.permissions": "Permissions in octal. Default: `" + cloudinit.DefaultPermissions + "`.",
	"runcmd": "Shell commands that run in order after everything else, each in a `/bin/sh -e` of its own, once in the life of an instance. " +
		"The first that fails ends the set-up, and is tried again at the next boot. Default: none.",

	"rendered":        "The cloud-config, as text.",
	"base64":          "The cloud-config in base64: the `user_data` of an instance.",
	"gzip_base64":     "The cloud-config compressed and in base64: a smaller `user_data`, which cloud-init reads as well.",
	"sha256":          "SHA-256 of `rendered`, in hex. It changes when, and only when, the cloud-config does.",
	"size_bytes":      fmt.Sprintf("Size of `base64` in bytes. OCI takes %d for the metadata of an instance, of which `ssh_authorized_keys` is a part too.", cloudinit.MaxUserDataBytes),
	"gzip_size_bytes": "Size of `gzip_base64` in bytes.",
}

func codeList[T ~string](names []T) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, "`"+string(name)+"`")
	}
	return strings.Join(quoted, " or ")
}

func cloudInitConfigDataSourceSchema() datasource.Schema {
	about := cloudInitConfigDescriptions
	text := func(name string) datasource.StringAttribute {
		return datasource.StringAttribute{MarkdownDescription: about[name], Optional: true}
	}
	made := func(name string) datasource.StringAttribute {
		return datasource.StringAttribute{MarkdownDescription: about[name], Computed: true}
	}
	size := func(name string) datasource.Int64Attribute {
		return datasource.Int64Attribute{MarkdownDescription: about[name], Computed: true}
	}
	list := func(name string) datasource.ListAttribute {
		return datasource.ListAttribute{MarkdownDescription: about[name], Optional: true, ElementType: types.StringType}
	}
	return datasource.Schema{
		MarkdownDescription: cloudInitConfigDescription,
		Attributes: map[string]datasource.Attribute{
			"shape":     datasource.StringAttribute{MarkdownDescription: about["shape"], Required: true},
			"timezone":  text("timezone"),
			"grow_root": datasource.BoolAttribute{MarkdownDescription: about["grow_root"], Optional: true},
			"firewall": datasource.SingleNestedAttribute{
				MarkdownDescription: about["firewall"],
				Optional:            true,
				Attributes: map[string]datasource.Attribute{
					"enabled": datasource.BoolAttribute{MarkdownDescription: about["firewall.enabled"], Required: true},
				},
			},
			"nvme": datasource.SingleNestedAttribute{
				MarkdownDescription: about["nvme"],
				Optional:            true,
				Attributes: map[string]datasource.Attribute{
					"layout":        text("nvme.layout"),
					"mount_point":   text("nvme.mount_point"),
					"label":         text("nvme.label"),
					"mount_options": text("nvme.mount_options"),
				},
			},
			"packages": list("packages"),
			"write_files": datasource.MapNestedAttribute{
				MarkdownDescription: about["write_files"],
				Optional:            true,
				NestedObject: datasource.NestedAttributeObject{Attributes: map[string]datasource.Attribute{
					"content":     datasource.StringAttribute{MarkdownDescription: about["write_files.content"], Required: true},
					"permissions": text("write_files.permissions"),
				}},
			},
			"runcmd":          list("runcmd"),
			"rendered":        made("rendered"),
			"base64":          made("base64"),
			"gzip_base64":     made("gzip_base64"),
			"sha256":          made("sha256"),
			"size_bytes":      size("size_bytes"),
			"gzip_size_bytes": size("gzip_size_bytes"),
		},
	}
}

func cloudInitConfigResourceSchema() resource.Schema {
	about := cloudInitConfigDescriptions
	text := func(name string) resource.StringAttribute {
		return resource.StringAttribute{MarkdownDescription: about[name], Optional: true}
	}
	made := func(name string) resource.StringAttribute {
		return resource.StringAttribute{MarkdownDescription: about[name], Computed: true}
	}
	size := func(name string) resource.Int64Attribute {
		return resource.Int64Attribute{MarkdownDescription: about[name], Computed: true}
	}
	list := func(name string) resource.ListAttribute {
		return resource.ListAttribute{MarkdownDescription: about[name], Optional: true, ElementType: types.StringType}
	}
	return resource.Schema{
		MarkdownDescription: cloudInitConfigDescription,
		Attributes: map[string]resource.Attribute{
			"shape":     resource.StringAttribute{MarkdownDescription: about["shape"], Required: true},
			"timezone":  text("timezone"),
			"grow_root": resource.BoolAttribute{MarkdownDescription: about["grow_root"], Optional: true},
			"firewall": resource.SingleNestedAttribute{
				MarkdownDescription: about["firewall"],
				Optional:            true,
				Attributes: map[string]resource.Attribute{
					"enabled": resource.BoolAttribute{MarkdownDescription: about["firewall.enabled"], Required: true},
				},
			},
			"nvme": resource.SingleNestedAttribute{
				MarkdownDescription: about["nvme"],
				Optional:            true,
				Attributes: map[string]resource.Attribute{
					"layout":        text("nvme.layout"),
					"mount_point":   text("nvme.mount_point"),
					"label":         text("nvme.label"),
					"mount_options": text("nvme.mount_options"),
				},
			},
			"packages": list("packages"),
			"write_files": resource.MapNestedAttribute{
				MarkdownDescription: about["write_files"],
				Optional:            true,
				NestedObject: resource.NestedAttributeObject{Attributes: map[string]resource.Attribute{
					"content":     resource.StringAttribute{MarkdownDescription: about["write_files.content"], Required: true},
					"permissions": text("write_files.permissions"),
				}},
			},
			"runcmd":          list("runcmd"),
			"rendered":        made("rendered"),
			"base64":          made("base64"),
			"gzip_base64":     made("gzip_base64"),
			"sha256":          made("sha256"),
			"size_bytes":      size("size_bytes"),
			"gzip_size_bytes": size("gzip_size_bytes"),
		},
	}
}
