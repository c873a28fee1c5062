#!/usr/bin/env bash
# What test/bare.sh runs on the bare machine: the README's commands, first by a user who may not install packages.
set -euo pipefail
clone=$(realpath "$(dirname "$0")/..")
cd "$clone"

say() { printf '\n\e[1mbare: %s\e[0m\n' "$*"; }
fail() {
	say "$*"
	exit 1
}
# What a command could leave behind: this script alone is running.
left() {
	cat /proc/mounts
	[[ ! -d /run/netns ]] || ls /run/netns
	ls -A /tmp
	local process
	for process in /proc/[0-9]*; do
		[[ $process == /proc/$$ ]] || tr '\0' '\n' 2>/dev/null <"$process/cmdline" || true
	done
}

as_user() { runuser -u user -- env HOME=/home/user bash -c 'cd ~/terraform-provider-ocihpc && "$@"' bash "$@" </dev/null; }

# Gives the line that a user is told to have root run.
told() {
	local output
	! output=$(as_user make "$1" 2>&1) || { printf '%s\n' "$output"; return 1; }
	printf '%s\n' "$output" >&2
	grep '^apt-get ' <<<"$output"
}

say 'apt-get install git make, as the README says'
apt-get update -qq
apt-get install -y -qq git make >/dev/null 2>&1
useradd -m -s /bin/bash user
git clone -q "$clone" /home/user/terraform-provider-ocihpc
chown -R user: /home/user
left >/run/before

say 'a user without sudo runs make demo'
line=$(told demo) || fail 'they are not told what to do'
say 'a user whose password sudo cannot ask for runs make demo'
apt-get install -y -qq --no-install-recommends sudo >/dev/null 2>&1
usermod -aG sudo user
[[ $(told demo) == "${line/ sudo/}" ]] || fail 'they are not told the same'

for target in "$@"; do
	say "$BY runs make $target"
	start=$SECONDS
	if [[ $BY == user ]]; then
		until as_user make "$target"; do
			say 'they do as they are told'
			line=$(told "$target") || fail 'they are not told what to do'
			DEBIAN_FRONTEND=noninteractive bash -c "$line"
		done
	else
		make "$target"
	fi
	say "make $target took $((SECONDS - start)) s"
	left >/run/after
	diff /run/before /run/after || fail "make $target left that on the machine"
done
say 'nothing is left on the machine: no mount, no namespace, no process, no temporary file'
