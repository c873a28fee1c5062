// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"strings"
	"testing"
)

// TestRefused has a config for each thing that would not work on a node. What is refused is one thing, named.
func TestRefused(t *testing.T) {
	t.Parallel()
	const longest = "user-with-a-name-of-33-characters"
	for want, c := range map[string]Config{
		`shape: "BM.GPU4-9" is not a shape that is known here. Did you mean "BM.GPU4.8"?`: {Shape: "BM.GPU4-9"},
		`shape: "x" is not a shape that is known here. For any`:                           {Shape: "x"},
		`os: "ol6" is not a system`:                                                       {OS: "ol6"},
		`timezone: "Tokyo" is not a time zone`:                                            {Timezone: "Tokyo"},
		`timezone: "Local" is not a time zone`:                                            {Timezone: "Local"},
		`locale: "en US" is not a locale`:                                                 {Locale: "en US"},
		`packages[1]: "-y" is not the name of a package.`:                                 {Packages: []string{"a", "-y"}},
		`packages[1]: "a" is there twice.`:                                                {Packages: []string{"a", "a"}},

		`users["` + longest + `"]: "` + longest + `" is not a user's name`: {Users: map[string]User{longest: {}}},
		`users["root"]: "root" is a user that images have.`:                {Users: map[string]User{"root": {}}},
		`users["default"]: "default" is a user that images have.`:          {Users: map[string]User{"default": {}}},
		`users["a"].uid: -1 is not a user's number.`:                       {Users: map[string]User{"a": {UID: -1}}},
		`users["a"].shell: "bash" is not the absolute path`:                {Users: map[string]User{"a": {Shell: "bash"}}},
		`users["a"].gecos: "a:b" is not a comment`:                         {Users: map[string]User{"a": {Gecos: "a:b"}}},
		`users["a"].groups[0]: "a b" is not a group's name.`:               {Users: map[string]User{"a": {Groups: []string{"a b"}}}},
		`users["a"].ssh_authorized_keys[0]: This is not one line`:          {Users: map[string]User{"a": {AuthorizedKeys: []string{"ssh-rsa x"}}}},
		`ssh_authorized_keys[1]: This is not one line`:                     {AuthorizedKeys: []string{publicKey, publicKey + "\n" + publicKey}},
		`ssh_authorized_keys[0]: This is a private key.`:                   {AuthorizedKeys: []string{"-----BEGIN OPENSSH PRIVATE KEY-----"}},

		`firewall.allow_cidrs: Where the firewall is off`:             {Firewall: &Firewall{AllowCIDRs: []string{"10.0.0.0/16"}}},
		`firewall.allow_cidrs[0]: "10.0.0.1/16" is not a network`:     {Firewall: &Firewall{Enabled: true, AllowCIDRs: []string{"10.0.0.1/16"}}},
		`nvme: BM.GPU3.8 has no local NVMe device. Leave nvme out.`:   {Shape: "BM.GPU3.8", NVMe: &NVMe{}},
		`nvme.layout: "raid5" is not a layout`:                        {NVMe: &NVMe{Layout: "raid5"}},
		`nvme.layout: raid10 needs two devices, and BM.Optimized3.36`: {Shape: "BM.Optimized3.36", NVMe: &NVMe{Layout: RAID10}},
		`nvme.file_system: "btrfs" is not a file system`:              {NVMe: &NVMe{FileSystem: "btrfs"}},
		`nvme.mount_point: "data" is not an absolute path`:            {NVMe: &NVMe{MountPoint: "data"}},
		`nvme.mount_point: "/data/" is not an absolute path`:          {NVMe: &NVMe{MountPoint: "/data/"}},
		`nvme.mount_point: "/usr/local" belongs to the system.`:       {NVMe: &NVMe{MountPoint: "/usr/local"}},
		`nvme.mount_point: "/home" belongs to the system.`:            {NVMe: &NVMe{MountPoint: "/home"}},
		`nvme.mount_point: "/var/lib/docker" is mounted by`:           {NVMe: &NVMe{MountPoint: "/var/lib/docker", ContainerStorage: true}},
		`nvme.label: "thirteen-char" is not a label`:                  {NVMe: &NVMe{Label: "thirteen-char"}},
		`nvme.label: "eleven-char" is too long: with per_disk`:        {NVMe: &NVMe{Layout: PerDisk, Label: "eleven-char"}},
		`nvme.mount_options: "a b" are not mount options`:             {NVMe: &NVMe{MountOptions: "a b"}},

		`rdma: BM.GPU3.8 has no RDMA ports. Leave rdma out.`:                       {Shape: "BM.GPU3.8", RDMA: &RDMA{}},
		`rdma.mode: "dhcp" is not a mode`:                                          {RDMA: &RDMA{Mode: "dhcp"}},
		`rdma.authentication: RDMA ports carry nothing until they have passed`:     {RDMA: &RDMA{Mode: RDMAManual}},
		`rdma.authentication: "me" is neither "image" nor "agent".`:                {RDMA: &RDMA{Mode: RDMAManual, Authentication: "me"}},
		`rdma.authentication: In the mode rpm, authentication is a part of it.`:    {RDMA: &RDMA{Mode: RDMARPM, Authentication: "image"}},
		`rdma.wait_seconds: 86401 is not between 1 and 86400 seconds.`:             {RDMA: &RDMA{WaitSeconds: 86401}},
		`rdma.network: "fd00::/64" is not an IPv4 network`:                         {RDMA: &RDMA{Network: "fd00::/64"}},
		`rdma.network: "169.254.0.0/16" holds addresses that OCI`:                  {RDMA: &RDMA{Network: "169.254.0.0/16"}},
		`rdma.network: 192.168.0.0/21 is too small: 16 ports`:                      {Shape: "BM.GPU4.8", RDMA: &RDMA{Mode: RDMAManual, Authentication: "image", Network: "192.168.0.0/21"}},
		`limits["rss"]: "rss" is not a limit`:                                      {Limits: map[string]string{"rss": "1"}},
		`limits["memlock"]: "-1" is neither unlimited nor a number.`:               {Limits: map[string]string{"memlock": "-1"}},
		`proxy.http: "proxy:3128" is not a URL with http, https.`:                  {Proxy: &Proxy{HTTP: "proxy:3128"}},
		`proxy.https: "http://a b" is not a URL with http, https.`:                 {Proxy: &Proxy{HTTPS: "http://a b"}},
		`proxy.no_proxy[0]: "a,b" is neither a host`:                               {Proxy: &Proxy{NoProxy: []string{"a,b"}}},
		`yum_repositories["a b"]: "a b" is not the ID of a repository`:             {YumRepositories: map[string]YumRepository{"a b": {}}},
		`yum_repositories["a"]: ubuntu22 has apt. Use apt_repositories.`:           {OS: "ubuntu22", YumRepositories: map[string]YumRepository{"a": {}}},
		`yum_repositories["a"].url: "ftp://x" is not a URL with http, https, file`: {YumRepositories: map[string]YumRepository{"a": {URL: "ftp://x"}}},
		`yum_repositories["a"].gpg_key: "x" is not a URL`:                          {YumRepositories: map[string]YumRepository{"a": {GPGKey: "x"}}},
		`yum_repositories["a"].name: "a\nb" is not one line of text.`:              {YumRepositories: map[string]YumRepository{"a": {Name: "a\nb"}}},
		`apt_repositories["a"]: ol8 has dnf. Use yum_repositories.`:                {OS: "ol8", AptRepositories: map[string]AptRepository{"a": {}}},
		`apt_repositories["a"].url: "x" is not a URL`:                              {AptRepositories: map[string]AptRepository{"a": {URL: "x"}}},
		`apt_repositories["a"].suite: "a b" is not a suite`:                        {AptRepositories: map[string]AptRepository{"a": {Suite: "a b"}}},
		`apt_repositories["a"].components[0]: "a b" is not a component`:            {AptRepositories: map[string]AptRepository{"a": {Components: []string{"a b"}}}},
		`apt_repositories["a"].key: This is not a public key in the armored form`:  {AptRepositories: map[string]AptRepository{"a": {Key: "x"}}},

		`container_engine.name: "podman" is not an engine`:                      {ContainerEngine: &ContainerEngine{Name: "podman"}},
		`container_engine.nvidia_toolkit: BM.GPU.MI300X.8 has no NVIDIA GPUs.`:  {Shape: "BM.GPU.MI300X.8", ContainerEngine: &ContainerEngine{NVIDIAToolkit: pointer(true)}},
		`container_engine.images[0]: "Ubuntu" is not the name of an image`:      {ContainerEngine: &ContainerEngine{Images: []string{"Ubuntu"}}},
		`container_engine.images[1]: "ubuntu" is there twice.`:                  {ContainerEngine: &ContainerEngine{Images: []string{"ubuntu", "ubuntu"}}},
		`write_files["etc/x"]: "etc/x" is not an absolute path`:                 {WriteFiles: map[string]File{"etc/x": {}}},
		`write_files["/etc/../x"]: "/etc/../x" is not an absolute path`:         {WriteFiles: map[string]File{"/etc/../x": {}}},
		`write_files["` + ScriptPath + `"]: "` + ScriptPath + `" is written by`: {WriteFiles: map[string]File{ScriptPath: {}}},
		`write_files["` + LogPath + `"]: "` + LogPath + `" is written by`:       {WriteFiles: map[string]File{LogPath: {}}},
		`write_files["/proc/x"]: "/proc/x" belongs to the system.`:              {WriteFiles: map[string]File{"/proc/x": {}}},
		`write_files["/etc/security/limits.d/90-ocihpc.conf"]: "/etc/security/limits.d/90-ocihpc.conf" is written for limits or proxy.`: {
			Limits: map[string]string{"memlock": "1"}, WriteFiles: map[string]File{"/etc/security/limits.d/90-ocihpc.conf": {}}},
		`write_files["/etc/fstab"]: "/etc/fstab" is edited by the set-up of nvme.`:      {NVMe: &NVMe{}, WriteFiles: map[string]File{"/etc/fstab": {}}},
		`write_files["/mnt/localdisk/x"]: "/mnt/localdisk/x" would be hidden`:           {NVMe: &NVMe{}, WriteFiles: map[string]File{"/mnt/localdisk/x": {}}},
		`write_files["/etc/x"].content: The content is not UTF-8 text.`:                 {WriteFiles: map[string]File{"/etc/x": {Content: "\xff"}}},
		`write_files["/etc/x"].owner: "a b" is not an owner`:                            {WriteFiles: map[string]File{"/etc/x": {Owner: "a b"}}},
		`write_files["/etc/x"].permissions: "u+x" are not permissions`:                  {WriteFiles: map[string]File{"/etc/x": {Permissions: "u+x"}}},
		`bootcmd[0]: The command is empty.`:                                             {Bootcmd: []string{" "}},
		`runcmd[1]: The command is not text.`:                                           {Runcmd: []string{"true", "a\x00"}},
		`ready_file: "/dev/ready" belongs to the system.`:                               {ReadyFile: "/dev/ready"},
		`parts[0].content_type: "text/plain" is not a content type`:                     {Parts: []Part{{ContentType: "text/plain"}}},
		`parts[0].merge_type: Only text/cloud-config is merged.`:                        {Parts: []Part{{ContentType: ShellScript, Content: "#!/bin/sh", MergeType: "list()"}}},
		`parts[0].merge_type: "append" is not a merge type`:                             {Parts: []Part{{MergeType: "append"}}},
		`parts[0].content: A script begins with a line such as #!/bin/sh.`:              {Parts: []Part{{ContentType: ShellScript, Content: "true"}}},
		`parts[1].content: line 1, column 14: something is mounted at /a already.`:      {Parts: []Part{{Content: "mounts: [[x, /a]]"}, {Content: "mounts: [[y, /a]]"}}},
		`parts[0].content: line 1, column 1: package_update is given by the attribute `: {PackageUpgrade: true, Parts: []Part{{Content: "package_update: true"}}},
	} {
		if got := problems(c); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") && !strings.Contains(want, "\n") {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
