// SPDX-License-Identifier: MPL-2.0

package container

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Components, by the names that job.ContainerRuntime.Versions uses.
const (
	compContainerd   = "containerd"
	compRunc         = "runc"
	compCNI          = "cni_plugins"
	compNerdctl      = "nerdctl"
	compRootlessKit  = "rootlesskit"
	compBypass4netns = "bypass4netns"
	compToolkit      = "nvidia_container_toolkit"
	compDocker       = "docker"
	compPodman       = "podman"
)

// release is how a vendor publishes a component. In its addresses, {version}, {arch} (amd64), {machine} (x86_64)
// and {packages} (deb_amd64, rpm_x86_64) stand for what they say.
type release struct {
	version string // pinned
	dir     string
	file    string
	// sums is the vendor's own file of SHA-256 digests beside it: used for a version that the table below lacks.
	sums string
	// layout says which programs of the archive go where; nil is a bare program.
	layout *layout
}

// layout puts the programs of a folder of an archive into a folder of the node.
type layout struct {
	to    string
	strip int      // folders above the programs in the archive
	names []string // empty is all
}

// takes says whether an archive's entry, without the folders above, is a program that is wanted.
func (l layout) takes(name string) bool {
	if strings.Contains(name, "/") || name == "LICENSE" || strings.HasSuffix(name, ".md") {
		return false
	}
	return l.names == nil || slices.Contains(l.names, name)
}

const github = "https://github.com/"

// releases are the vendors' addresses, and the versions that a set-up has by default: containerd 2.2 of Oracle
// Japan's tutorial with the newest fixes, and what nerdctl 2.2.2 was released and tested with, but for nerdctl itself.
var releases = map[string]release{
	compContainerd: {
		version: "2.2.7",
		dir:     github + "containerd/containerd/releases/download/v{version}/",
		file:    "containerd-{version}-linux-{arch}.tar.gz",
		sums:    "containerd-{version}-linux-{arch}.tar.gz.sha256sum",
		layout:  &layout{to: binDir, strip: 1},
	},
	compRunc: {
		version: "1.3.6",
		dir:     github + "opencontainers/runc/releases/download/v{version}/",
		file:    "runc.{arch}",
		sums:    "runc.sha256sum",
	},
	compCNI: {
		version: "1.9.1",
		dir:     github + "containernetworking/plugins/releases/download/v{version}/",
		file:    "cni-plugins-linux-{arch}-v{version}.tgz",
		sums:    "cni-plugins-linux-{arch}-v{version}.tgz.sha256",
		layout:  &layout{to: cniDir},
	},
	compNerdctl: {
		version: "2.3.0", // the first whose --gpus means CDI
		dir:     github + "containerd/nerdctl/releases/download/v{version}/",
		file:    "nerdctl-{version}-linux-{arch}.tar.gz",
		sums:    "SHA256SUMS",
		layout:  &layout{to: binDir},
	},
	compRootlessKit: {
		version: "2.3.6",
		dir:     github + "rootless-containers/rootlesskit/releases/download/v{version}/",
		file:    "rootlesskit-{machine}.tar.gz",
		sums:    "SHA256SUMS",
		layout:  &layout{to: binDir},
	},
	// bypass4netns has no archive of its own: nerdctl's full one is the vendor's only build (0.4.2 in nerdctl
	// 2.2 and 2.3), so that its version here is nerdctl's.
	compBypass4netns: {
		version: "2.2.2",
		dir:     github + "containerd/nerdctl/releases/download/v{version}/",
		file:    "nerdctl-full-{version}-linux-{arch}.tar.gz",
		sums:    "SHA256SUMS",
		layout:  &layout{to: binDir, strip: 1, names: []string{"bypass4netns", "bypass4netnsd"}},
	},
	// The archive holds packages of the distribution's kind.
	compToolkit: {
		version: "1.18.2",
		dir:     github + "NVIDIA/nvidia-container-toolkit/releases/download/v{version}/",
		file:    "nvidia-container-toolkit_{version}_{packages}.tar.gz",
		sums:    "nvidia-container-toolkit_{version}_checksums.txt",
	},
}

// digests are the SHA-256 of the vendors' files for amd64 and arm64, by component and version, as the vendors
// publish them beside the files (containerd, runc, CNI plugins and nerdctl as Kubespray records them, rootlesskit
// as nerdctl's build does, nerdctl's full archive as Lima does).
var digests = map[string][2]string{
	"containerd 2.2.0": {
		"b9626a94ab93b00bcbcbf13d98deef972c6fb064690e57940632df54ad39ee71",
		"8805c2123d3b7c7ee2030e9f8fc07a1167d8a3f871d6a7d7ec5d1deb0b51a4a7",
	},
	"containerd 2.2.1": {
		"f5d8e90ecb6c1c7e33ecddf8cc268a93b9e5b54e0e850320d765511d76624f41",
		"dac15a0d412a24be8bfe6a40cec8f51829062725169f1e72ac7d120a891ef5b6",
	},
	"containerd 2.2.2": {
		"2c08c99cbde73b3388c6d5da68e0bcaebc70c9174f2b14d785695e4401b3ede0",
		"cb102473d6e353beb604178879d51cc456da0cdf368d9437d8d404ed01baf674",
	},
	"containerd 2.2.3": {
		"ca26ef5138f17b847bbeeec36d4bf5e002b54d25858197a870c125d57f44d32f",
		"2942d72435b18610f7b69c1ddb74f99cef5c549425ff80d3e74f04e5e80db6a4",
	},
	"containerd 2.2.4": {
		"62e77f6294e432dca5b56ad7e7d6085b5bbb526ebba0a51d832714f9b04cfdfd",
		"d0897c8e27c96a7b7d4c73e9b278ea9f559dda619d497d88b323a528bd1412c3",
	},
	"containerd 2.2.5": {
		"d4031557773a8e969d604b4ee809c64ed3c6cd024d38d521d93984fa17d37b89",
		"ad3f7aec168ebbae8d24c412fdd2e8806d96599757f6032e38997d62a108158a",
	},
	"containerd 2.2.6": {
		"f001b58b63206da25aa5accdb2eb1211aec19c28ec418b4d953b87d0c1ee7eb6",
		"0b05746d09e86ac1098a3ecf4bc67d146873d668819aeb8216c39fcf369e8a51",
	},
	"containerd 2.2.7": {
		"91cd216ea26a1b8b512219d3f205375c967e7b7de4dae571bc3dd16bfacd34b5",
		"84eb0a161e20ad45465202fa2d6d93b3d9b74666c363e9908706d590a86e2618",
	},
	"containerd 2.3.0": {
		"4cb83e7100a5e73fcb626207d0b5bcfd1294e26aeddfe075dcfb38f375c5f887",
		"06623dc8719b30d06303420f7eae91b0a9ade4e71243a4102f6375e585fb0a42",
	},
	"containerd 2.3.1": {
		"628448bd973610c656c1cbea8e88b32fafd85b23cc1aa4a3372eb7198478c054",
		"46a83603a850f3916ca7c942310daaf82ed17773a85b1d431e92d4a541e46d0d",
	},
	"containerd 2.3.2": {
		"75625e6f6595bb95f3fb9c8123a60534af4a8d9b52d7617065967bcefe71a17a",
		"6874adea935300402b7782d63bf58f1bd59a3323d76a9f22f27686001fb8997a",
	},
	"containerd 2.3.3": {
		"ebf6e710056312628eaf6fb4a1c32f0a4ae5f812568321be4029389d66fc7c7c",
		"9cc708f13c31588a2fbdbd13553d963356e990d50e9b95a2d6120f4ff2067910",
	},
	"containerd 2.3.4": {
		"9d68969855fbf676cdb8ed758e420fb048d61f984f61de3e53eddfebe484d168",
		"a985fbb7e18fc0362d31a055338f5d7b0e087a3e27f14c70d1c5965399a29f95",
	},
	"runc 1.3.3": {
		"8781ab9f71c12f314d21c8e85f13ca1a82d90cf475aa5131a7b543fcc5487543",
		"3c9a8e9e6dafd00db61f4611692447ebab4a56388bae4f82192aed67b66df712",
	},
	"runc 1.3.4": {
		"5966ca40b6187b30e33bfc299c5f1fe72e8c1aa01cf3fefdadf391668f47f103",
		"d6dcab36d1b6af1b72c7f0662e5fcf446a291271ba6006532b95c4144e19d428",
	},
	"runc 1.3.5": {
		"66fa8390be8fb3b23dfbb60c767368bb5b51f1acfa88692bbff1a82953d4d9e9",
		"bd843d75a788e612c9df286b1fa519a44fcbb7a7b8d01e2268431433cc7c718c",
	},
	"runc 1.3.6": {
		"3f3921dbbee7723e9868f97e88e51ffc910206e3ba55646e74d93d24ea76023c",
		"6be27a061ef89bb14c6cb495405bba80f46cea213b8f79378a6086b1bac6b747",
	},
	"runc 1.4.0": {
		"c5d4995c5aec204d7e1827d9d9a6b45042602736f7f415f484252e576dcdac28",
		"2adbeed4c751d6f2201c642ed06269ff4370fcc4165abd3f323e19c653716c31",
	},
	"runc 1.4.1": {
		"b6d50dad89a420cafcdc0eebf4bed132a45b161d5bc1ba4ddd8cc4422d24a983",
		"80d5757c46152c35151621cf394ee08cec881716169d0fdd40f9ce124d3c85f5",
	},
	"runc 1.4.2": {
		"ac8a90f9e225bb9322189937b230cdc5478d5753f0e31e1bda98a5cf06bd9539",
		"ea54032310588e115633aa2f4bba8bf9500257f657e1deca88df5778775138db",
	},
	"runc 1.4.3": {
		"f6ae8efc0fa40079e1475e97cbe9d1bd3f106a28d6af78a11d9f1bd565515e60",
		"633301e2e32f8a5ad54031aab4901eb00308bec677dd15faa2751e8f9dab5ca4",
	},
	"cni_plugins 1.8.0": {
		"ab3bda535f9d90766cccc90d3dddb5482003dd744d7f22bcf98186bf8eea8be6",
		"57ce466fc3b79db1f19b8f4c63e07a1112306efa53c94fe810a2150dd9e07ddb",
	},
	"cni_plugins 1.9.1": {
		"b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303",
		"56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec",
	},
	"nerdctl 2.2.0": {
		"1b3390a832eaeaa1459cf42357da983205da2dd72300a015ad018b3499fc455e",
		"37b353122e0785578d1680fb1d7be546f4c64d0a4aed7875d3a216b2c44be76d",
	},
	"nerdctl 2.2.1": {
		"34144de7f12756aa4b9dc42a907fd95b0c5eb82a63566a650ca10c8abe7a26a0",
		"abc83c9ac3d843c3442eedfb61c6456b8b59b1e4cd69f69598ca1582acc7c094",
	},
	"nerdctl 2.2.2": {
		"6f637760fb2875e3454e97c3de7438fd17281b5996908cbd8ee1c872b0653cc8",
		"4e222d6be16d94052079a4773e04f21c82e07f9b5847163fed78396e6ad8eeb5",
	},
	"nerdctl 2.3.0": {
		"e81f6f999cce35ed998cf24b922855d37306bf2ff0e4c0df80492d82b0b58fd6",
		"7c53628e76cdb6bd7642f8aef7f838d413dd53957c6bbf5a78dc2208d58b81f1",
	},
	"rootlesskit 2.3.5": {
		"118208e25becd144ee7317c172fc9decce7b16174d5c1bbf80f1d1d0eacc6b5f",
		"478c14c3195bf989cd9a8e6bd129d227d5d88f1c11418967ffdc84a0072cc7a2",
	},
	"rootlesskit 2.3.6": {
		"afc52e9fa2f7a2d4bb692f675cf3d2f70f3a184f02593e8b18cfbbbc34cbfd41",
		"3edc52986c442576da856a66b59a61d16cf765359712c5ecf2d147c69f0df6e9",
	},
	"rootlesskit 3.1.0": {
		"b1302b7395918266d561b9e3053771253f20761807e042ae80a1868d6e86b71c",
		"42d1c22a34be7bb458f9ae7363d68dd05d553422d95392b44d0be7fa1fd76bf0",
	},
	"bypass4netns 2.2.0": {
		"d3b6a7cb990639fef12b63fb26d34f570786f685d609763f37f98b32430ce747",
		"5398f037ae095d43cf3cb8c30765a24e511e38cafe02977b928a41b26e842ed1",
	},
	"bypass4netns 2.2.1": {
		"cf4720a290f098f1a66d34a1b2e1d3736c9014fceca737861fb7a069c66c01c2",
		"2c4b97312acd41c4dfe80db6e82592367b3862b5db4c51ce67a6d79bf6ee00ee",
	},
	"bypass4netns 2.2.2": {
		"8a477f35533c6cc1120c19558d8142967c74f25a4b952b481f48104e030de914",
		"55d68d2613b5f065021146bac21f620cde9e7fdd4bd3eff74cd324f5462e107a",
	},
}

// digest of a release's file, and whether the table has it.
func digest(component, version, arch string) (string, bool) {
	pair, found := digests[component+" "+version]
	i := slices.Index(Architectures, arch)
	if !found || i < 0 {
		return "", false
	}
	return pair[i], true
}

// Architectures that the vendors' releases are for, by Go's names.
var Architectures = []string{"amd64", "arm64"}

var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// expand fills in what an address of a release leaves open. Packages are deb or rpm.
func expand(text, version, arch, packages string) string {
	packagesArch := arch
	if packages == "rpm" {
		packagesArch = machines[arch]
	}
	return strings.NewReplacer("{version}", version, "{arch}", arch, "{machine}", machines[arch],
		"{packages}", packages+"_"+packagesArch).Replace(text)
}

// known lists the versions of a component whose digests are in the table.
func known(component string) []string {
	var versions []string
	for _, key := range slices.Sorted(maps.Keys(digests)) {
		if name, version, _ := strings.Cut(key, " "); name == component {
			versions = append(versions, version)
		}
	}
	return versions
}

// Address is where a vendor publishes a component; packages (deb or rpm) matters to the toolkit alone.
func Address(component, version, arch, packages string) (string, error) {
	r, found := releases[component]
	if !found {
		return "", fmt.Errorf("%s is no component of a release", component)
	}
	return expand(r.dir+r.file, version, arch, packages), nil
}
