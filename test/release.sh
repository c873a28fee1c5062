#!/usr/bin/env bash
# Looks at the release that `make release-check` has put into dist/: its names are the registry's, its checksums hold,
# the runner in its archive is the one in every provider. Then makes it again from a clone in another place, by make with
# a build cache of its own, and by goreleaser: every file must be the same, byte by byte.
set -euo pipefail
cd "$(dirname "$0")/.."

export VERSION
VERSION=$(cat VERSION)
provider=terraform-provider-ocihpc_$VERSION
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "release: $*" >&2
	exit 1
}

# What goreleaser puts beside the release is about the machine, and not published; a signature has its time in it.
published() { (cd "$1" && find . -maxdepth 1 -type f ! -name '*.json' ! -name '*.yaml' ! -name '*.sig' -o -name '*.cdx.json' | sort); }

sums=dist/${provider}_SHA256SUMS
for name in "$provider"_{linux,darwin,windows}_{amd64,arm64}.zip "${provider}_manifest.json" \
	ocihpc-{runner,lab}_"$VERSION"_linux_{amd64,arm64}.tar.gz; do
	grep -q "  $name\$" "$sums" || fail "$name is not in $sums"
done
cp terraform-registry-manifest.json "$work/${provider}_manifest.json"
(cd dist && find . -maxdepth 1 -type f -exec ln -s "$PWD/{}" "$work/" \;)
(cd "$work" && sha256sum --check --quiet "$OLDPWD/$sums")

runners=0
for arch in amd64 arm64; do
	sum=$(tar -xzOf "dist/ocihpc-runner_${VERSION}_linux_$arch.tar.gz" ocihpc-runner | sha256sum | cut -d ' ' -f 1)
	for document in dist/terraform-provider-ocihpc_v"${VERSION}"_*.cdx.json; do
		grep -q "$sum" "$document" || fail "the provider of $document does not carry the runner for $arch that is released"
		runners=$((runners + 1))
	done
done
((runners == 12)) || fail "$runners runners in six providers, not 12"

git clone -q --no-hardlinks . "$work/elsewhere"
[[ -z $(git status --porcelain --untracked-files=no) ]] || echo 'release: what is not committed is not in the second release' >&2
dist=$PWD/dist
cd "$work/elsewhere"
GOCACHE=$work/cache make --no-print-directory build
read -r os arch <<<"$(go env GOOS GOARCH | xargs)"
unzip -q "$dist/${provider}_${os}_$arch.zip" -d "$work/archive"
for program in runner lab; do tar -xzf "$dist/ocihpc-${program}_${VERSION}_${os}_$arch.tar.gz" -C "$work/archive"; done
cmp bin/terraform-provider-ocihpc "$work/archive/terraform-provider-ocihpc_v$VERSION"
cmp bin/ocihpc-runner "$work/archive/ocihpc-runner"
cmp bin/ocihpc-lab "$work/archive/ocihpc-lab"
rm -rf "$work/cache" bin internal/runnerbin/dist/*.gz

goreleaser release --snapshot --clean --skip=sign >"$work/log" 2>&1 || { cat "$work/log"; fail 'the second release failed'; }
diff <(published "$dist") <(published dist) || fail 'the second release has other files'
for file in $(published dist); do
	cmp "$dist/$file" "dist/$file" || fail "$file differs in the second release"
done
printf 'release: %d files, twice the same; the binaries are those that make builds\n' "$(published dist | wc -l)"
