#!/usr/bin/env bash
# Runs the acceptance tests with a CLI on PATH: terraform (the default), or tofu.
set -euo pipefail
cd "$(dirname "$0")/.."
cli=$(command -v "${1:-terraform}") || { echo "$1 is not on PATH" >&2; exit 1; }

"$cli" version
if [[ $(basename "$cli") == tofu ]]; then
	# Tests run terraform; OpenTofu looks for providers without a host in a registry of its own.
	bin=$(mktemp -d)
	trap 'rm -rf "$bin"' EXIT
	ln -s "$cli" "$bin/terraform"
	export PATH=$bin:$PATH TF_ACC_PROVIDER_HOST=registry.opentofu.org TF_ACC_PROVIDER_NAMESPACE=ocihpc
	cli=$bin/terraform
fi
TF_ACC=1 TF_ACC_TERRAFORM_PATH=$cli go test -timeout 30m ./provider
