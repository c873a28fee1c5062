#!/usr/bin/env bash
# govulncheck needs its database; a machine that cannot reach it is told so, and does not fail unless it is GitHub's.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

output=$(govulncheck ./... 2>&1)
status=$?
printf '%s\n' "$output"
if ((status == 1)) && grep -qE 'vuln\.go\.dev|fetching vulnerabilities' <<<"$output"; then
	echo 'vulncheck: the vulnerability database cannot be reached from here; nothing was checked.'
	[[ ${GITHUB_ACTIONS:-} != true ]] || exit 1
	exit 0
fi
exit "$status"
