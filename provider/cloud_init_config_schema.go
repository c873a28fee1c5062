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
	"`; `" + cloudinit.StatusPath + "` has one JSON object a step with its exit status, seconds and message, the last of which is `ready`. " +
	"A step that fails ends the set-up and shows as an error in `cloud-init status` and in the checks of `ocihpc_nccl_benchmark`.\n\n" +
	"There is a data source and a resource of this name, over the same attributes. The cloud-config is a pure function of them, so the **data source** " +
	"is the natural form: nothing is kept in step, and the text is known in the plan. The **resource** only adds a life cycle: the cloud-config stays in the state, " +
	"and the plan shows a change of `sha256` beside what was changed. The texts themselves are sensitive: files and the proxy may hold secrets, " +
	"and plans stay readable. With Terraform 1.8 and later there is also the function `provider::ocihpc::cloud_init_config`.\n\n" +
	"OCI reads user data only when an instance is launched: a change reaches nodes that are launched after it. " +
	"A thousand are rendered in 0.2 seconds on one core of an AMD EPYC, in 0.7 with the compressed form as well; `make bench` measures it."

// fieldKind is what the value of an attribute is.
type fieldKind int

const (
	textField fieldKind = iota
	flagField
	numberField
	textsField
	textMapField
	objectField
	objectsField    // by name
	objectListField // in order
)

// field is an attribute of the cloud-config, in the resource, the data source and the function alike.
type field struct {
	name     string
	kind     fieldKind
	about    string
	required bool
	computed bool
	secret   bool // kept out of what Terraform prints
	fields   []field
}

func codeList[T ~string](names []T) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, "`"+string(name)+"`")
	}
	return strings.Join(quoted, ", ")
}

// cloudInitFields are all attributes; the names are those of [cloudinit.Config] in JSON.
func cloudInitFields() []field {
	preset := cloudinit.DefaultNVMe()
	return []field{
		{name: "shape", required: true, about: "Shape of the node, such as `BM.GPU4.8`, or `generic` for any other. It decides what makes sense, how many devices are expected and which are the RDMA ports."},
		{name: "os", about: "System of the image: " + codeList(cloudinit.Systems()) + ". Default: not said; what depends on it is found out at boot, and repositories for both package managers are taken."},
		{name: "timezone", about: "Time zone in the IANA form, such as `Asia/Tokyo`. Default: that of the image."},
		{name: "locale", about: "Locale such as `en_US.UTF-8`. Default: that of the image."},
		{name: "users", kind: objectsField, about: "Users to make beside the image's own, by name. They log in by SSH keys only. Default: none.", fields: []field{
			{name: "gecos", about: "Comment, such as the full name."},
			{name: "shell", about: "Login shell. Default: that of the image."},
			{name: "uid", kind: numberField, about: "Number of the user, the same on every node. Default: the next that is free."},
			{name: "groups", kind: textsField, about: "Further groups. Default: none."},
			{name: "sudo", kind: flagField, about: "Whether the user may do everything by sudo, without a password. Default: false."},
			{name: "ssh_authorized_keys", kind: textsField, about: "Public keys, each a line of authorized_keys. Default: none."},
		}},
		{name: "ssh_authorized_keys", kind: textsField, about: "Further public keys of the image's own user (`opc`, `ubuntu`). Default: those of the instance's metadata alone."},
		{name: "grow_root", kind: flagField, about: "Whether the root file system grows to the size of the boot volume, by `oci-growfs` where the image has it. Default: true."},
		{name: "firewall", kind: objectField, about: "The host firewall. Default: as in the image, where it blocks MPI and NCCL between nodes.", fields: []field{
			{name: "enabled", kind: flagField, required: true, about: "Whether firewalld is on. Where it is off, the security lists of the subnet alone decide what reaches the node; " +
				"on Oracle's Ubuntu images, which have no firewalld, the rules of iptables that reject are taken away. On an image without firewalld, true needs `allow_cidrs`."},
			{name: "allow_cidrs", kind: textsField, about: "Networks from which everything is let in, such as the subnet of the nodes: MPI and NCCL use ports of their choice. Default: none."},
		}},
		{name: "nvme", kind: objectField, about: "File systems on all local NVMe devices but the boot disk. The devices are found at boot; one that holds anything else stops the set-up, and nothing on it is lost. " +
			"The file systems are found again, by label and volume name, after a reboot and a change of the boot volume. An empty object takes the defaults. Default: the devices are left alone.", fields: []field{
			{name: "layout", about: fmt.Sprintf("How the devices are joined: %s. `lvm` is one after the other, `lvm_striped` and `raid0` have the bandwidth of all devices, `raid10` survives a broken one, "+
				"`per_disk` mounts each below `mount_point`, on `disk0` and so on. Default: `%s`. What exists keeps its layout.", codeList(cloudinit.Layouts()), preset.Layout)},
			{name: "file_system", about: "File system: " + codeList(cloudinit.FileSystems()) + ". Default: `" + preset.FileSystem + "`."},
			{name: "mount_point", about: "Directory where it is mounted. Default: `" + preset.MountPoint + "`."},
			{name: "label", about: "Label of the file system, of 1 to 12 characters; with `per_disk`, of at most 10, and the number of the device follows. Default: `" + preset.Label + "`, with `per_disk` `nvme`."},
			{name: "mount_options", about: "Mount options, separated by commas. Default: `" + preset.MountOptions + "`; `nofail` lets a node with a broken device boot."},
			{name: "container_storage", kind: flagField, about: "Whether containerd and Docker store images and containers on it: `/var/lib/containerd` and `/var/lib/docker` become mounts of folders there. Default: false."},
		}},
		{name: "rdma", kind: objectField, about: "The RDMA ports of a node in a cluster network: who gives them addresses, and how long the set-up waits until each has one and is authenticated. " +
			"An empty object takes the defaults. Default: the ports are left alone and not waited for.", fields: []field{
			{name: "mode", about: fmt.Sprintf("Who configures the ports: %s. `agent` is Oracle Cloud Agent, whose plugins the instance must have switched on; `rpm` is `oci-rdma-configure` of Oracle's images for cluster networking; "+
				"`manual` is the set-up itself: a subnet a port, in the order of the PCI addresses, host numbers as in the VCN's subnet of any width, MTU %d, and the kernel's ARP settings. Default: `agent`.",
				codeList(cloudinit.RDMAModes()), cloudinit.RDMAMTU)},
			{name: "network", about: "Network for the ports' addresses; it must not overlap with the VCN. Default: what the image or agent has; with `manual`, `" + cloudinit.DefaultRDMANetwork + "`."},
			{name: "authentication", about: "With `manual`, and required there: what authenticates the ports by 802.1X, without which they carry nothing: `image` for an image with `oci-cn-auth`, `agent` for the plugin of Oracle Cloud Agent. The boot stops where it is missing."},
			{name: "wait_seconds", kind: numberField, about: fmt.Sprintf("How long to wait for the ports. About ten minutes are usual. Default: %d.", cloudinit.DefaultRDMAWaitSeconds)},
		}},
		{name: "limits", kind: textMapField, about: "Limits of users and services by the names of limits.conf(5): `core`, `memlock`, `nofile`, `nproc`, `stack`; `unlimited` or a number, of KiB for memory. RDMA wants `memlock = \"unlimited\"`. Default: those of the image."},
		{name: "proxy", kind: objectField, about: "HTTP proxy for packages, images and login shells. What it holds can be read by everyone on the node. Default: none.", fields: []field{
			{name: "http", about: "URL of the proxy for HTTP."},
			{name: "https", about: "URL of the proxy for HTTPS. Default: as `http`."},
			{name: "no_proxy", kind: textsField, about: "Hosts, domains and networks that are reached directly, beside this host and OCI's metadata service."},
		}},
		{name: "yum_repositories", kind: objectsField, about: "Repositories for dnf and yum by ID. Default: none.", fields: []field{
			{name: "name", about: "Name for people. Default: the ID."},
			{name: "url", required: true, about: "Base URL; dnf's variables such as `$basearch` can be in it."},
			{name: "gpg_key", about: "URL of the key that signs packages."},
			{name: "gpg_check", kind: flagField, about: "Whether signatures are checked. Default: true."},
			{name: "enabled", kind: flagField, about: "Whether packages are installed from it without naming it. Default: true."},
		}},
		{name: "apt_repositories", kind: objectsField, about: "Repositories for apt by ID. Default: none.", fields: []field{
			{name: "url", required: true, about: "URL of the repository."},
			{name: "suite", required: true, about: "Suite; `$RELEASE` stands for the code name of the image's release."},
			{name: "components", kind: textsField, about: "Components, such as `main`. Default: none, for a suite that ends with a slash."},
			{name: "key", about: "Public key that signs the repository, armored. Default: the keys that apt trusts."},
		}},
		{name: "package_upgrade", kind: flagField, about: "Whether all packages are upgraded on the first boot. Default: false; drivers and kernel of a GPU image belong together."},
		{name: "packages", kind: textsField, about: "Packages to install from the repositories of the image and those above, in the words of the image's package manager. Default: none."},
		{name: "container_engine", kind: objectField, about: "Container engine to install and start at boot, where it is missing. An empty object takes the defaults. Default: as in the image; `ocihpc_container_runtime` can set it up later.", fields: []field{
			{name: "name", about: "Engine: " + codeList(cloudinit.Engines()) + ". Default: `docker`."},
			{name: "nvidia_toolkit", kind: flagField, about: "Whether NVIDIA Container Toolkit is installed and set up for the engine. Default: true on shapes with NVIDIA GPUs."},
			{name: "images", kind: textsField, about: "Images to pull at boot, each a step of its own. Default: none."},
		}},
		{name: "write_files", kind: objectsField, about: "Files to write before anything else is done, by absolute path. Default: none.", fields: []field{
			{name: "content", required: true, about: "Content of the file, as text."},
			{name: "permissions", about: "Permissions in octal. Default: `" + cloudinit.DefaultPermissions + "`."},
			{name: "owner", about: "Owner as `user:group`; the file is then written after users were made. Default: root."},
		}},
		{name: "bootcmd", kind: textsField, about: "Shell commands that run early in each boot, before files are written, each in a `/bin/sh -e` of its own. The first that fails ends the set-up. Default: none."},
		{name: "runcmd", kind: textsField, about: "Shell commands that run in order after everything else, each in a `/bin/sh -e` of its own, once in the life of an instance. " +
			"The first that fails ends the set-up, and is tried again at the next boot. Default: none."},
		{name: "ready_file", about: "File that is made when the set-up is complete, and removed as a boot's set-up begins. Default: `" + cloudinit.DefaultReadyFile + "`."},
		{name: "parts", kind: objectListField, about: "User data of your own, which cloud-init merges with the rest: `rendered` is then a MIME message. A cloud-config is checked like everything else, " +
			"and other spacing, order of keys, quotes and comments are no change. Default: none.", fields: []field{
			{name: "content", required: true, about: "The part, as text."},
			{name: "content_type", about: "What it is: " + codeList(cloudinit.ContentTypes()) + ". Default: `" + cloudinit.CloudConfig + "`."},
			{name: "merge_type", about: "How a cloud-config is merged, in cloud-init's words. Default: `" + cloudinit.DefaultMergeType + "`, which adds to lists and keeps what is there."},
		}},
		{name: "rendered", computed: true, secret: true, about: "The user data, as text. See it with an output that is `sensitive`, and `terraform output -raw`."},
		{name: "base64", computed: true, secret: true, about: "The user data in base64, as an instance wants it."},
		{name: "gzip_base64", computed: true, secret: true, about: "The user data compressed and in base64: smaller, and cloud-init reads it as well."},
		{name: "sha256", computed: true, about: "SHA-256 of `rendered`, in hex. It changes when, and only when, the user data does."},
		{name: "size_bytes", kind: numberField, computed: true, about: fmt.Sprintf("Size of `base64` in bytes. OCI takes %d for the metadata of an instance, of which `ssh_authorized_keys` is a part too.", cloudinit.MaxUserDataBytes)},
		{name: "gzip_size_bytes", kind: numberField, computed: true, about: "Size of `gzip_base64` in bytes."},
	}
}

func cloudInitConfigDataSourceSchema() datasource.Schema {
	return datasource.Schema{MarkdownDescription: cloudInitConfigDescription, Attributes: dataSourceAttributes(cloudInitFields())}
}

func dataSourceAttributes(fields []field) map[string]datasource.Attribute {
	attributes := map[string]datasource.Attribute{}
	for _, f := range fields {
		attributes[f.name] = f.dataSource()
	}
	return attributes
}

func (f field) dataSource() datasource.Attribute {
	optional := !f.required && !f.computed
	nested := func() datasource.NestedAttributeObject {
		return datasource.NestedAttributeObject{Attributes: dataSourceAttributes(f.fields)}
	}
	switch f.kind {
	case flagField:
		return datasource.BoolAttribute{MarkdownDescription: f.about, Required: f.required, Optional: optional}
	case numberField:
		return datasource.Int64Attribute{MarkdownDescription: f.about, Required: f.required, Optional: optional, Computed: f.computed}
	case textsField:
		return datasource.ListAttribute{MarkdownDescription: f.about, Optional: optional, ElementType: types.StringType}
	case textMapField:
		return datasource.MapAttribute{MarkdownDescription: f.about, Optional: optional, ElementType: types.StringType}
	case objectField:
		return datasource.SingleNestedAttribute{MarkdownDescription: f.about, Optional: optional, Attributes: dataSourceAttributes(f.fields)}
	case objectsField:
		return datasource.MapNestedAttribute{MarkdownDescription: f.about, Optional: optional, NestedObject: nested()}
	case objectListField:
		return datasource.ListNestedAttribute{MarkdownDescription: f.about, Optional: optional, NestedObject: nested()}
	default:
		return datasource.StringAttribute{MarkdownDescription: f.about, Required: f.required, Optional: optional, Computed: f.computed, Sensitive: f.secret}
	}
}

func cloudInitConfigResourceSchema() resource.Schema {
	return resource.Schema{MarkdownDescription: cloudInitConfigDescription, Attributes: resourceAttributes(cloudInitFields())}
}

func resourceAttributes(fields []field) map[string]resource.Attribute {
	attributes := map[string]resource.Attribute{}
	for _, f := range fields {
		attributes[f.name] = f.resource()
	}
	return attributes
}

func (f field) resource() resource.Attribute {
	optional := !f.required && !f.computed
	nested := func() resource.NestedAttributeObject {
		return resource.NestedAttributeObject{Attributes: resourceAttributes(f.fields)}
	}
	switch f.kind {
	case flagField:
		return resource.BoolAttribute{MarkdownDescription: f.about, Required: f.required, Optional: optional}
	case numberField:
		return resource.Int64Attribute{MarkdownDescription: f.about, Required: f.required, Optional: optional, Computed: f.computed}
	case textsField:
		return resource.ListAttribute{MarkdownDescription: f.about, Optional: optional, ElementType: types.StringType}
	case textMapField:
		return resource.MapAttribute{MarkdownDescription: f.about, Optional: optional, ElementType: types.StringType}
	case objectField:
		return resource.SingleNestedAttribute{MarkdownDescription: f.about, Optional: optional, Attributes: resourceAttributes(f.fields)}
	case objectsField:
		return resource.MapNestedAttribute{MarkdownDescription: f.about, Optional: optional, NestedObject: nested()}
	case objectListField:
		return resource.ListNestedAttribute{MarkdownDescription: f.about, Optional: optional, NestedObject: nested()}
	default:
		return resource.StringAttribute{MarkdownDescription: f.about, Required: f.required, Optional: optional, Computed: f.computed, Sensitive: f.secret}
	}
}
