#!/usr/bin/env bash
# The main job in the lab: apply examples/quickstart, show what came of it, apply again (no change),
# destroy, and see that nothing is left. Ends non-zero when any of this does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."

lab=$PWD/bin/ocihpc-lab
work=$(mktemp -d)
report=$PWD/bin/demo-report.html

bold='' plain=''
[[ ! -t 1 || -n ${NO_COLOR:-} ]] || bold=$'\e[1m' plain=$'\e[0m'
step() { printf '\n%s==> %s%s\n' "$bold" "$*" "$plain"; }
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

leftovers() {
	ip netns list 2>/dev/null || true
	grep -E 'ocihpc|overlay' /proc/mounts || true
	pgrep -a -f "$work/lab" || true
}
before=$(leftovers)

step 'Starting a local OCI region'
"$lab" up --dir "$work/lab"
eval "$("$lab" env --dir "$work/lab")"

# Terraform installs the provider from a mirror that holds what was just built.
cp -r examples/quickstart "$work/quickstart"
cat >"$work/terraformrc" <<RC
provider_installation {
  filesystem_mirror {
    path = "$PWD/bin/mirror"
  }
}
RC
export TF_CLI_CONFIG_FILE=$work/terraformrc TF_IN_AUTOMATION=1
# The lab measures host memory, so the sizes are small.
export TF_VAR_max_size_bytes=4194304 TF_VAR_timezone=Asia/Tokyo
[[ -n $bold ]] || export TF_CLI_ARGS=-no-color
tf() { terraform -chdir="$work/quickstart" "$@"; }

step 'terraform init'
tf init -input=false >"$work/init" || { cat "$work/init"; fail 'terraform init failed'; }
grep Installed "$work/init"

step 'terraform apply: two BM.GPU4.8 nodes on a cluster network, checked and measured'
tf apply -auto-approve -input=false

step 'What was measured'
tf output -raw verdict
printf '\n'
cp "$work/quickstart/report.html" "$report"
printf 'The report, for a browser: %s\n' "$report"

step 'terraform apply, again: no change'
tf plan -input=false -detailed-exitcode >"$work/plan" ||
	{ cat "$work/plan"; fail 'the second plan is not empty'; }
tf apply -auto-approve -input=false | grep -E 'No changes|Apply complete'

step 'terraform destroy'
tf destroy -auto-approve -input=false | grep -E '^(.\[0m.\[1m)?(ocihpc_|.*Destroy complete)'
status=$("$lab" status --dir "$work/lab")
printf '%s\n' "$status"
grep -q 'cluster networks 0, compute clusters 0, instance pools 0, instance configurations 0, instances 0, hosts 0' <<<"$status" ||
	fail 'the destroyed cluster left something in the region'

step 'Stopping the region'
"$lab" down --dir "$work/lab"
left=$(leftovers)
[[ $left == "$before" ]] || fail "the lab left something on this machine: $left"
echo 'Nothing is left: no namespace, no mount, no process.'
