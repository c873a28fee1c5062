#!/usr/bin/env bash
# Puts in place what a target of the GNUmakefile needs, and nothing that is there already:
#
#   tools/setup.sh build | lab | test | tofu | terraform-1.5.7 | bench | lint | docs | vulncheck | release | bare …
#
# apt packages are installed system-wide (with sudo where needed). Go and Go tools go to
# ${XDG_CACHE_HOME:-~/.cache}/ocihpc-tools, whose bin directory the GNUmakefile has first on its PATH.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=tools/versions.env
source ./versions.env

tools=${XDG_CACHE_HOME:-$HOME/.cache}/ocihpc-tools
bin=$tools/bin
mkdir -p "$bin"
path=${PATH//"$bin":/}
PATH=$bin:$path

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
	say "$*"
	exit 1
}

# quietly COMMAND… shows what a command prints only where it fails.
quietly() {
	local output
	output=$("$@" 2>&1) || die "$output
setup: failed: $*"
}

# packages_of PART names the Debian packages of a part.
packages_of() {
	case $1 in
	build) echo "$APT_BUILD" ;;
	lab) echo "$APT_LAB" ;;
	test) echo "$APT_TEST $(browser)" ;;
	release) echo "$APT_RELEASE" ;;
	bare) echo "$APT_BARE" ;;
	esac
}

# browser names Chromium where it is a package and no browser is there: Ubuntu has it as a snap alone.
browser() {
	local name
	for name in chromium chromium-browser google-chrome; do
		! command -v "$name" >/dev/null || return 0
	done
	if apt-cache show chromium >/dev/null 2>&1; then
		echo chromium
	else
		say 'there is no package chromium: the report is not opened in a browser'
	fi
}

# need_packages PACKAGE… installs the Debian packages that are missing.
need_packages() {
	local missing=()
	for package in $(printf '%s\n' "$@" | sort -u); do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	((${#missing[@]})) || return 0

	command -v apt-get >/dev/null || die "this is neither Debian nor Ubuntu, on which alone it is set up: there is no apt-get to install ${missing[*]}"
	local sudo=()
	if ((EUID != 0)); then
		sudo=(sudo)
		if ! command -v sudo >/dev/null || ! sudo true; then
			die "packages are missing, and only root can install them. Have root run the next line, then repeat your command:
apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
		fi
	fi
	say "installing ${missing[*]}"
	"${sudo[@]}" apt-get update -qq
	# The services stay off: the lab starts its own, in its own namespaces.
	local policy=/usr/sbin/policy-rc.d ours=
	if [[ ! -e $policy ]]; then
		ours=yes
		printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
		"${sudo[@]}" chmod 755 "$policy"
	fi
	local status=0
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || status=$?
	[[ -z $ours ]] || "${sudo[@]}" rm -f "$policy"
	return "$status"
}

# module_proxy is the first one of GOPROXY that answers to URLs.
module_proxy() {
	local proxy urls=${GOPROXY:-}
	for proxy in ${urls//[,|]/ } https://proxy.golang.org; do
		[[ $proxy != *://* ]] || break
	done
	echo "${proxy%/}"
}

# need_go makes sure of a Go that is new enough, from the module proxy where the machine has none.
need_go() {
	local have
	have=$(go env GOVERSION 2>/dev/null || true)
	if [[ -n $have && $(printf '%s\n' "${have#go}" "${GO_VERSION%.*}" | sort -V | head -n 1) == "${GO_VERSION%.*}" ]]; then
		return 0
	fi
	local arch sha256
	case $(uname -m) in
	x86_64) arch=amd64 sha256=$GO_SHA256_amd64 ;;
	aarch64) arch=arm64 sha256=$GO_SHA256_arm64 ;;
	*) die "no Go is pinned for $(uname -m): please install Go $GO_VERSION" ;;
	esac
	local module=golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-$arch
	if [[ ! -x $tools/$module/bin/go ]]; then
		say "installing Go $GO_VERSION"
		local zip
		zip=$(mktemp)
		curl -fsSL -o "$zip" "$(module_proxy)/${module/@/\/@v\/}.zip"
		echo "$sha256  $zip" | sha256sum --check --quiet
		unzip -q -o "$zip" -d "$tools"
		rm -f "$zip"
		chmod +x "$tools/$module"/bin/* "$tools/$module"/pkg/tool/*/*
	fi
	ln -sfn "$tools/$module/bin/go" "$bin/go"
	ln -sfn "$tools/$module/bin/gofmt" "$bin/gofmt"
}

# need_ubuntu_keyring gets the keys by which debootstrap checks what it gets from Ubuntu's archive.
need_ubuntu_keyring() {
	local keyring=$tools/ubuntu-archive-keyring.gpg
	[[ ! -e $keyring ]] || return 0
	local deb
	deb=$(mktemp)
	curl -fsSL -o "$deb" "http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/$UBUNTU_KEYRING"
	echo "$UBUNTU_KEYRING_SHA256  $deb" | sha256sum --check --quiet
	dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/share/keyrings/ubuntu-archive-keyring.gpg >"$keyring.new"
	rm -f "$deb"
	mv "$keyring.new" "$keyring"
}

# build_tool NAME PACKAGE@VERSION builds a Go tool once for each version of it, and gives its path.
build_tool() {
	local name=$1 package=$2
	local dir=$tools/$name-${package##*@}
	if [[ ! -x $dir/$name ]]; then
		say "building $package, once: this may take minutes"
		GOBIN=$dir quietly go install "$package"
	fi
	echo "$dir/$name"
}

need_tool() {
	local tool
	tool=$(build_tool "$@")
	ln -sfn "$tool" "$bin/$1"
}

# has_own CLI says whether the machine has a program of its own, which goes before the one that was built here.
has_own() {
	PATH=$path command -v "$1" >/dev/null || return 1
	rm -f "$bin/$1"
}

# need_terraform NAME makes sure of a terraform, or of terraform-1.5.7 beside a newer one.
need_terraform() {
	! has_own "$1" || return 0
	[[ $1 == terraform || $1 == "terraform-$TERRAFORM_VERSION" ]] ||
		die "$1 is not on PATH, and cannot be built from the Go module proxy, as terraform-$TERRAFORM_VERSION and tofu can"
	local terraform
	terraform=$(build_tool terraform "github.com/hashicorp/terraform@v$TERRAFORM_VERSION")
	ln -sfn "$terraform" "$bin/$1"
}

# need_tofu builds OpenTofu as tools/opentofu/go.mod pins it: its replacements are what `go install` refuses.
need_tofu() {
	! has_own tofu || return 0
	local module=github.com/opentofu/opentofu version
	version=$(go -C opentofu list -m -f '{{.Version}}' "$module")
	local dir=$tools/tofu-$version
	if [[ ! -x $dir/tofu ]]; then
		say "building $module@$version, once: this takes minutes"
		quietly go -C opentofu build -trimpath -buildvcs=false -ldflags "-s -w -X $module/version.dev=no" -o "$dir/tofu" "$module/cmd/tofu"
	fi
	ln -sfn "$dir/tofu" "$bin/tofu"
}

# need_engines makes an apt repository of the container engines with all that this machine lacks of them.
need_engines() {
	local pool=$tools/engines
	local want="$APT_ENGINES / $APT_ENGINES_NEXT / $APT_ENGINES_NEXT_SUITE / $APT_ENGINES_HIDDEN"
	[[ $(cat "$pool/complete" 2>/dev/null) == "$want" ]] && return 0
	say "downloading container engines"
	rm -rf "$pool"
	mkdir -p "$pool/partial"
	# What apt would download if none of them were installed.
	awk -v RS= -v ORS='\n\n' -v names="$APT_ENGINES_HIDDEN" \
		'BEGIN { split(names, n, " "); for (i in n) hidden[n[i]] } !($2 in hidden)' /var/lib/dpkg/status >"$pool/status"
	local -a apt=(apt-get -qq -y --no-install-recommends --download-only -o "Dir::State::status=$pool/status"
		-o "Dir::Cache::archives=$pool" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Debug::NoLocking=1 -o APT::Sandbox::User=)
	# shellcheck disable=SC2086 # a list of packages
	"${apt[@]}" install $APT_ENGINES >/dev/null 2>&1 || {
		local sudo=()
		((EUID == 0)) || sudo=(sudo)
		"${sudo[@]}" apt-get update -qq
		"${apt[@]}" install $APT_ENGINES >/dev/null
	}
	local next=$pool/next
	mkdir -p "$next/lists/partial" "$next/cache/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $APT_ENGINES_NEXT_SUITE main" >"$next/sources.list"
	apt=(apt-get -qq -o "Dir::Etc::sourcelist=$next/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$next/lists"
		-o "Dir::Cache=$next/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Languages=none)
	(
		cd "$pool"
		"${apt[@]}" update
		# shellcheck disable=SC2086 # a list of packages
		"${apt[@]}" download $APT_ENGINES_NEXT
		rm -rf "$next"
		for deb in *.deb; do
			dpkg-deb --field "$deb"
			printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d ' ' -f 1)"
		done >Packages
	)
	printf '%s' "$want" >"$pool/complete"
}

# build_engine COMPONENT VERSION LDFLAGS PACKAGE@VERSION... builds programs of a release once, as the vendors do.
build_engine() {
	local dir=$tools/releases/$1-$2 ldflags=$3
	[[ -e $dir ]] && return 0
	say "building $1 $2"
	rm -rf "$dir.new"
	GOBIN=$dir.new GOFLAGS='-trimpath -tags=seccomp' quietly go install -ldflags "-s -w $ldflags" "${@:4}"
	mv "$dir.new" "$dir"
}

need_releases() {
	local containerd=github.com/containerd/containerd/v2 cni=github.com/containernetworking/plugins
	build_engine containerd "$ENGINE_CONTAINERD" "-X $containerd/version.Version=v$ENGINE_CONTAINERD" \
		"$containerd"/cmd/{containerd,containerd-shim-runc-v2,ctr}"@v$ENGINE_CONTAINERD"
	build_engine runc "$ENGINE_RUNC" '' "github.com/opencontainers/runc@v$ENGINE_RUNC"
	build_engine cni_plugins "$ENGINE_CNI" "-X $cni/pkg/utils/buildversion.BuildVersion=v$ENGINE_CNI" \
		"$cni"/plugins/{main/{bridge,loopback},ipam/host-local,meta/{firewall,portmap,tuning}}"@v$ENGINE_CNI"
	build_engine rootlesskit "$ENGINE_ROOTLESSKIT" '' "github.com/rootless-containers/rootlesskit/v2/cmd/"{rootlesskit,rootlessctl}"@v$ENGINE_ROOTLESSKIT"
	build_engine bypass4netns "$ENGINE_BYPASS4NETNS" '' "github.com/rootless-containers/bypass4netns/cmd/"{bypass4netns,bypass4netnsd}"@v$ENGINE_BYPASS4NETNS"
}

packages=()
for what in "$@"; do
	# What is measured beside ours may be missing.
	# shellcheck disable=SC2207 # a list of packages
	[[ $what == bench ]] || packages+=($(packages_of "$what"))
done
need_packages "${packages[@]}"

for what in "$@"; do
	case $what in
	build) need_go ;;
	lab) need_terraform terraform ;;
	test)
		need_engines
		need_releases
		;;
	tofu) need_tofu ;;
	terraform-*) need_terraform "$what" ;;
	lint)
		need_tool golangci-lint "$GOLANGCI_LINT"
		need_tool actionlint "$ACTIONLINT"
		need_tool misspell "$MISSPELL"
		;;
	docs)
		need_tool tfplugindocs "$TFPLUGINDOCS"
		need_terraform terraform
		;;
	bench) need_packages "$APT_BENCH" || say "without $APT_BENCH, nothing is measured beside ours" ;;
	vulncheck) need_tool govulncheck "$GOVULNCHECK" ;;
	release) need_tool goreleaser "$GORELEASER" ;;
	bare) need_ubuntu_keyring ;;
	*) die "unknown: $what (one of build, lab, test, tofu, terraform-$TERRAFORM_VERSION, bench, lint, docs, vulncheck, release, bare)" ;;
	esac
done
