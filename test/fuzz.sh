#!/usr/bin/env bash
# Runs every fuzz target of the project for the given time (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}

go list ./... | while read -r package; do
	go test -list '^Fuzz' "$package" | { grep '^Fuzz' || true; } | while read -r target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done
