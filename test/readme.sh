#!/usr/bin/env bash
# Puts examples/quickstart/main.tf into the README, so that the quickstart shown is the one tested.
set -euo pipefail
cd "$(dirname "$0")/.."

awk '
	/<!-- quickstart: begin -->/ { print; print "```terraform"; while ((getline line < "examples/quickstart/main.tf") > 0) print line; print "```"; skip = 1; next }
	/<!-- quickstart: end -->/ { skip = 0 }
	!skip' README.md >README.md.new
mv README.md.new README.md
