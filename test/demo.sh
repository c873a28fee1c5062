#!/usr/bin/env bash
# The main job in the lab: apply examples/quickstart, show what came of it, apply again (no change),
# destroy, and see that nothing is left. Ends non-zero when any of this does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."

lab=$PWD/bin/ocihpc-lab
work=$(mktemp -d)
report=$PWD/bin/demo-report.html

step() { printf '\n\033[1m==> %s\033[0m\n' "$*" | { [[ -t 1 ]] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; }
fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}
cleanup() {
	"$lab" down --dir "$work/lab" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

step 'Starting a local OCI region'
"$lab" up --dir "$work/lab"
eval "$("$lab" env --dir "$work/lab")"

# Terraform installs the provider from a mirror that holds what was just built.
cp -r examples/quickstart "$work/quickstart"
version=$(cat VERSION)
platform=$(go env GOOS)_$(go env GOARCH)
mirror=$work/mirror/registry.terraform.io/ocihpc/ocihpc/$version/$platform
mkdir -p "$mirror"
ln -s "$PWD/bin/terraform-provider-ocihpc" "$mirror/terraform-provider-ocihpc_v$version"
cat >"$work/terraformrc" <<RC
provider_installation {
  filesystem_mirror {
    path = "$work/mirror"
  }
}
RC
export TF_CLI_CONFIG_FILE=$work/terraformrc TF_IN_AUTOMATION=1
# The lab measures host memory, so the sizes are small.
export TF_VAR_max_size_bytes=4194304
tf() { terraform -chdir="$work/quickstart" "$@"; }

step 'terraform init'
tf init -input=false -no-color | grep -v '^$'

step 'terraform apply: two BM.GPU4.8 nodes on a cluster network, checked and measured'
tf apply -auto-approve -input=false

step 'What was measured'
tf output -raw results
printf '\n\n'
tf output -raw verdict
printf '\n'
cp "$work/quickstart/report.html" "$report"
printf 'The report, for a browser: %s\n' "$report"

step 'terraform apply, again: no change'
tf plan -input=false -detailed-exitcode >"$work/plan" ||
	{ cat "$work/plan"; fail 'the second plan is not empty'; }
tf apply -auto-approve -input=false

step 'terraform destroy'
tf destroy -auto-approve -input=false
"$lab" status --dir "$work/lab" --require-empty

step 'Stopping the region'
"$lab" down --dir "$work/lab"
