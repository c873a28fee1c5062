#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# nvidia-ctk of a lab host: describes to containers, by CDI, the GPUs that the lab's nvidia-smi shows. A container
# gets that nvidia-smi, and a file which tells it the GPUs: there are no devices.
set -eu
fail() { echo "nvidia-ctk (lab): $1" >&2; exit 1; }

gpus=/etc/ocihpc-lab-gpus dir=/var/lib/lab/cdi
case "${1:-} ${2:-}" in
"--version "* | "-v "*) echo "NVIDIA Container Toolkit CLI version @VERSION@"; echo "commit: lab"; exit 0 ;;
"cdi generate" | "cdi list") command=$2; shift 2 ;;
*) fail "this one knows --version, cdi generate and cdi list" ;;
esac
output=
while [ $# -gt 0 ]; do
	case $1 in
	--output=*) output=${1#*=} ;;
	--output) output=$2; shift ;;
	--format=yaml) ;;
	*) fail "unknown option $1" ;;
	esac
	shift
done
count=$(nvidia-smi -L | grep -c '^GPU ') || fail "nvidia-smi shows no GPU"

list() {
	i=0
	while [ "$i" -lt "$count" ]; do echo "$i"; i=$((i + 1)); done
	echo all
}
if [ "$command" = list ]; then
	list | sed 's/^/nvidia.com\/gpu=/'
	exit 0
fi

mkdir -p "$dir"
spec() {
	printf -- '---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n'
	for device in $(list); do
		{ cat "$gpus"; echo "host=$(uname -n)"; [ "$device" = all ] || echo "visible=$device"; } >"$dir/$device"
		printf '  - name: "%s"\n    containerEdits:\n      mounts:\n' "$device"
		printf '        - {hostPath: %s, containerPath: %s, options: [ro, nosuid, nodev, bind]}\n' "$dir/$device" "$gpus"
	done
	printf 'containerEdits:\n  env: [NVIDIA_VISIBLE_DEVICES=void]\n  mounts:\n'
	printf '    - {hostPath: /usr/bin/nvidia-smi, containerPath: /usr/bin/nvidia-smi, options: [ro, nosuid, nodev, bind]}\n'
}
if [ -z "$output" ]; then
	spec
else
	mkdir -p "$(dirname "$output")"
	spec >"$output.new"
	mv "$output.new" "$output"
fi
