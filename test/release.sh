#!/usr/bin/env bash
# Makes a release in dist/, signed with a key of its own and not published, and looks at it: its names are the registry's,
# signature and checksums hold, the runner in its archive is the one in every provider. Then makes it again from a clone
# in another place, by make with a build cache of its own, and by goreleaser: every file must be the same, byte by byte.
set -euo pipefail
cd "$(dirname "$0")/.."

export VERSION
VERSION=$(cat VERSION)
provider=terraform-provider-ocihpc_$VERSION
work=$(mktemp -d)
export GNUPGHOME=$work/gnupg
mkdir -m 700 "$GNUPGHOME"
trap 'gpgconf --kill gpg-agent; rm -rf "$work"' EXIT
fail() {
	echo "release: $*" >&2
	exit 1
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

[[ -z $(git status --porcelain --untracked-files=no) ]] || fail 'commit first: what is not committed would not be in the second release'
quietly gpg --batch --passphrase '' --quick-generate-key test rsa2048 sign 1d
GPG_FINGERPRINT=$(gpg --list-keys --with-colons | awk -F : '/^fpr/ { print $10; exit }')
export GPG_FINGERPRINT
goreleaser release --snapshot --clean

sums=$PWD/dist/${provider}_SHA256SUMS
quietly gpg --verify "$sums.sig" "$sums"
names=("$provider"_{linux,darwin,windows}_{amd64,arm64}.{zip,cdx.json} "${provider}_manifest.json"
	ocihpc-{runner,lab}_"$VERSION"_linux_{amd64,arm64}.{tar.gz,cdx.json})
diff <(printf '%s\n' "${names[@]}" | sort) <(cut -d ' ' -f 3 "$sums" | sort) || fail "$sums has other files than a release"
mkdir "$work/release"
cp terraform-registry-manifest.json "$work/release/${provider}_manifest.json"
for name in "${names[@]}"; do [[ $name == *_manifest.json ]] || ln -s "$PWD/dist/$name" "$work/release/"; done
(cd "$work/release" && sha256sum --check --quiet "$sums")

for arch in amd64 arm64; do
	sum=$(tar -xzOf "dist/ocihpc-runner_${VERSION}_linux_$arch.tar.gz" ocihpc-runner | sha256sum | cut -d ' ' -f 1)
	for document in "dist/$provider"_{linux,darwin,windows}_{amd64,arm64}.cdx.json; do
		grep -q "$sum" "$document" || fail "the provider of $document does not carry the runner for $arch that is released"
	done
done

git clone -q --no-hardlinks . "$work/elsewhere"
cd "$work/elsewhere"
GOCACHE=$work/cache quietly make --no-print-directory build
read -r os arch <<<"$(go env GOOS GOARCH | xargs)"
mkdir "$work/archive"
unzip -q "$work/release/${provider}_${os}_$arch.zip" -d "$work/archive"
for program in runner lab; do tar -xzf "$work/release/ocihpc-${program}_${VERSION}_${os}_$arch.tar.gz" -C "$work/archive"; done
cmp bin/terraform-provider-ocihpc "$work/archive/terraform-provider-ocihpc_v$VERSION"
cmp bin/ocihpc-runner "$work/archive/ocihpc-runner"
cmp bin/ocihpc-lab "$work/archive/ocihpc-lab"
rm -rf "$work/cache" bin internal/runnerbin/dist/*.gz

quietly goreleaser release --snapshot --clean
cmp "$sums" "dist/${provider}_SHA256SUMS" || { diff "$sums" "dist/${provider}_SHA256SUMS" || true; fail 'the second release is another one'; }
printf 'release: %d files, twice the same; the binaries are those that make builds\n' "${#names[@]}"
