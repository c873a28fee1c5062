#!/usr/bin/env bash
# Runs acceptance tests with a CLI, by its name on PATH or its path: terraform (the default), or tofu. What follows goes to
# go test: the package provider, or others.
set -euo pipefail
cd "$(dirname "$0")/.."
cli=$(command -v "${1:-terraform}") || { echo "$1 is not on PATH" >&2; exit 1; }
shift $(($# > 0))

# Settings of the machine's own that are not there are a warning, and OpenTofu's is where tests read its version.
export TF_CLI_CONFIG_FILE=/dev/null
"$cli" version
# Tests run terraform.
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
ln -s "$(realpath -s "$cli")" "$bin/terraform"
if [[ $(basename "$cli") == tofu ]]; then
	# OpenTofu looks for providers without a host in a registry of its own.
	export TF_ACC_PROVIDER_HOST=registry.opentofu.org TF_ACC_PROVIDER_NAMESPACE=ocihpc
fi
export PATH=$bin:$PATH
TF_ACC=1 TF_ACC_TERRAFORM_PATH=$bin/terraform go test -timeout 30m "${@:-./provider}"
