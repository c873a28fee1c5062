#!/usr/bin/env bash
# Follows the README on a bare machine, made by debootstrap and entered as a privileged container is:
#
#   test/bare.sh SUITE TARGET…      such as: test/bare.sh noble demo test
#
# The machine gets a clone of what is committed here. BY=user follows it as a user without sudo, who does what they are
# told. MIRROR is the suite's; proxies, name servers and certificates are this machine's.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=$1 targets=("${@:2}")
fail() {
	echo "bare: $*" >&2
	exit 1
}
((EUID == 0)) || fail 'only root can make another machine: please run it as root'

case $suite in
bookworm | trixie | forky | sid)
	script=$suite components=main mirror=${MIRROR:-http://deb.debian.org/debian} security=$mirror-security
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	;;
*) # All of Ubuntu's have one script, also those that are newer than debootstrap.
	script=gutsy components='main universe' mirror=${MIRROR:-http://archive.ubuntu.com/ubuntu} security=$mirror
	keyring=${XDG_CACHE_HOME:-$HOME/.cache}/ocihpc-tools/ubuntu-archive-keyring.gpg
	;;
esac

root=$(mktemp -d)
chmod 755 "$root"
machine='' # whose end is that of all that runs on it
cleanup() {
	[[ -z $machine ]] || kill -KILL "$machine" 2>/dev/null || true
	wait
	rm -rf --one-file-system "$root"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

echo "bare: making $suite" >&2
debootstrap --variant=minbase --keyring="$keyring" "$suite" "$root" "$mirror" "$script" >"$root.log" ||
	{ tail "$root.log"; rm "$root.log"; fail "cannot make $suite"; }
rm "$root.log"
cat >"$root/etc/apt/sources.list" <<SOURCES
deb $mirror $suite $components
deb $mirror $suite-updates $components
deb $security $suite-security $components
SOURCES
apt-config dump | grep -iE '^Acquire::https?::(proxy|ca)' >"$root/etc/apt/apt.conf.d/90-host" || true
cp /etc/resolv.conf "$root/etc/"
printf '127.0.0.1 localhost bare\n::1 localhost ip6-localhost\n' >"$root/etc/hosts"
install -d "$root/usr/local/share/ca-certificates"
find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$root/usr/local/share/ca-certificates/" \;
git clone -q . "$root/root/terraform-provider-ocihpc"

environment=(HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" BY="${BY:-root}"
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in {http,https,no,all}_proxy {HTTP,HTTPS,NO,ALL}_PROXY GOPROXY GOSUMDB GONOSUMDB GONOPROXY; do
	[[ -z ${!name:-} ]] || environment+=("$name=${!name}")
done
# shellcheck disable=SC2016 # expanded inside
unshare --mount --pid --uts --ipc --fork --kill-child bash -euc '
	root=$1; shift
	mount --make-rslave /
	mount --bind "$root" "$root"
	cd "$root"
	mount -t proc proc proc
	mount --rbind /sys sys
	mount --rbind /dev dev
	mount -t tmpfs -o mode=755 tmpfs run
	mkdir -m 755 run/host
	pivot_root . run/host
	umount -l /run/host
	rmdir /run/host
	mount --make-rprivate /
	hostname bare
	exec env -i "$@"' bash "$root" "${environment[@]}" /root/terraform-provider-ocihpc/test/bare_inside.sh "${targets[@]}" &
machine=$!
wait "$machine"
