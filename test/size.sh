#!/usr/bin/env bash
# The runner is uploaded to nodes and the provider is downloaded on every init: both have a limit.
set -euo pipefail
cd "$(dirname "$0")/.."

check() {
	local file=$1 limit_mb=$2 bytes
	bytes=$(stat -c %s "$file")
	printf "%-36s %5d kB (limit %d MB)\n" "$file" $((bytes / 1000)) "$limit_mb"
	((bytes < limit_mb * 1000000)) || { echo "$file is too large" >&2; return 1; }
}

check bin/ocihpc-runner_linux_amd64 15
check bin/ocihpc-runner_linux_arm64 15
check bin/terraform-provider-ocihpc 60
