#!/usr/bin/env bash
# Measures this machine's real GPUs by `terraform apply` in the lab, and by plain nccl-tests beside it: as one node with all
# GPUs, and as two nodes with half of them each, whose ranks mpirun starts. Prints each pair and the medians. At the end it
# searches for better settings of the two nodes.
#
#   NCCL_TESTS_DIR=/opt/nccl-tests test/gpu/measure.sh [PAIRS]
#
# MAX_ONE_NODE and MAX_TWO_NODES are the largest messages, in bytes.
# nccl-tests must be built with MPI=1, in a directory that lab hosts see (below /usr or /opt). `make build` comes first.
set -euo pipefail
cd "$(dirname "$0")/../.."

pairs=${1:-5}
tests=${NCCL_TESTS_DIR:?names the directory of all_reduce_perf}
gpus=$(nvidia-smi -L | grep -c '^GPU')
lab=$PWD/bin/ocihpc-lab
source=$PWD/test/gpu/main.tf
provider=$PWD/bin/terraform-provider-ocihpc
version=$(cat VERSION)
work=$(mktemp -d)
cleanup() {
	"$lab" down --dir "$work/lab" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT

mirror=$work/mirror/registry.terraform.io/ocihpc/ocihpc/$version/linux_amd64
mkdir -p "$mirror"
ln -s "$provider" "$mirror/terraform-provider-ocihpc_v$version"
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$work/mirror" >"$work/terraformrc"
export TF_CLI_CONFIG_FILE=$work/terraformrc TF_IN_AUTOMATION=1 CHECKPOINT_DISABLE=1 TF_CLI_ARGS=-no-color

# last_busbw gives the out-of-place bus bandwidth of the last row of nccl-tests' table.
last_busbw() { awk 'NF == 13 && $1 ~ /^[0-9]+$/ { v = $8 } END { print v }'; }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
tf() { terraform -chdir="$work/tf" "$@"; }

# one_node runs nccl-tests by hand on the first host, two_nodes by mpirun over SSH from the first to the second.
one_node() {
	"$lab" exec --dir "$work/lab" "${hosts[0]}" -- env NCCL_NVLS_ENABLE=0 "$tests/all_reduce_perf" \
		-b 8 -e "$TF_VAR_max_size_bytes" -f 8 -g "$gpus" -w 1 -n 20
}
two_nodes() {
	"$lab" exec --dir "$work/lab" "${hosts[0]}" -- su - opc -c "mpirun --host ${addresses[0]}:$((gpus / 2)),${addresses[1]}:$((gpus / 2)) -np $gpus \
		--bind-to none --mca plm_rsh_args '-o StrictHostKeyChecking=accept-new' --mca btl_tcp_if_exclude lo -x NCCL_NVLS_ENABLE=0 \
		$tests/all_reduce_perf -b 8 -e $TF_VAR_max_size_bytes -f 8 -g 1 -w 1 -n 20"
}

# compare NODES PATTERN MAX_SIZE PLAIN measures both ways, one after the other.
compare() {
	export TF_VAR_nodes=$1 TF_VAR_gpus_per_node=$((gpus / $1)) TF_VAR_pattern=$2 TF_VAR_max_size_bytes=$3 TF_VAR_nccl_tests_dir=$tests TF_VAR_run=0
	local plain=$4
	printf '\n==> %s node(s) with %s GPU(s) each, up to %s bytes\n' "$1" "$TF_VAR_gpus_per_node" "$3"
	"$lab" up --dir "$work/lab" --gpus-per-host "$TF_VAR_gpus_per_node" >/dev/null
	eval "$("$lab" env --dir "$work/lab")"
	rm -rf "$work/tf" && mkdir "$work/tf" && cp "$source" "$work/tf/"
	tf init -input=false >/dev/null
	tf apply -auto-approve -input=false | tail -n 60
	mapfile -t hosts < <(tf output -json verdict | python3 -c 'import json, sys; [print(g.split(":")[0]) for g in json.load(sys.stdin)["gpus"]]')
	mapfile -t addresses < <(tf output -json addresses | python3 -c 'import json, sys; print(*json.load(sys.stdin), sep="\n")')
	"$lab" exec --dir "$work/lab" "${hosts[0]}" -- sh -c 'umask 077; cat >/home/opc/.ssh/id_ed25519; chown opc: /home/opc/.ssh/id_ed25519' <"$work/lab/id_ed25519"
	$plain >"$work/plain" # the first contact of SSH
	rm -f "$work/ratios" "$work/extra"
	printf '%8s %14s %14s %8s %12s %12s %8s\n' pair 'plain, GB/s' 'ours, GB/s' ratio 'plain, s' 'apply, s' extra
	for ((i = 1; i <= pairs; i++)); do
		local began seconds theirs
		began=$(now)
		$plain >"$work/plain"
		seconds=$(since "$began") theirs=$(last_busbw <"$work/plain")
		export TF_VAR_run=$i
		began=$(now)
		tf apply -auto-approve -input=false >"$work/apply"
		local applied ours
		applied=$(since "$began") ours=$(tf output -json verdict | python3 -c 'import json, sys; print(json.load(sys.stdin)["results"][-1].split()[1])')
		awk -v i="$i" -v t="$theirs" -v o="$ours" -v s="$seconds" -v a="$applied" -v r="$work/ratios" -v e="$work/extra" \
			'BEGIN { printf "%8d %14.2f %14.2f %8.3f %12.2f %12.2f %8.2f\n", i, t, o, o / t, s, a, a - s; print o / t >>r; print a - s >>e }'
	done
	printf 'median ratio %.3f, median extra wall time of terraform apply %.2f s\n' "$(median <"$work/ratios")" "$(median <"$work/extra")"
	tf output verdict
	printf '\nThe last run by hand:\n'
	cat "$work/plain"
	if (($1 > 1)); then
		export TF_VAR_run=tuning TF_VAR_tuning='{ max_runs = 16 }'
		tf apply -auto-approve -input=false >"$work/apply"
		printf '\nThe search for better settings:\n'
		tf output tuned
	fi
	tf destroy -auto-approve -input=false | tail -n 1
	"$lab" down --dir "$work/lab"
}

nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
compare 1 auto "${MAX_ONE_NODE:-$((8 << 30))}" one_node
compare 2 all "${MAX_TWO_NODES:-$((256 << 20))}" two_nodes
