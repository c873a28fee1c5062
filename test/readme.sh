#!/usr/bin/env bash
# Puts examples/quickstart/main.tf into the README, so that the quickstart shown is the one tested.
# With --check it changes nothing and fails when they differ.
set -euo pipefail
cd "$(dirname "$0")/.."

render() {
	awk '
		/<!-- quickstart: begin -->/ { print; print "```terraform"; while ((getline line < "examples/quickstart/main.tf") > 0) print line; print "```"; skip = 1; next }
		/<!-- quickstart: end -->/ { skip = 0 }
		!skip' README.md
}

if [[ ${1:-} == --check ]]; then
	diff README.md <(render) || { echo 'README.md does not show examples/quickstart/main.tf: run make docs.' >&2; exit 1; }
else
	render >README.md.new && mv README.md.new README.md
fi
