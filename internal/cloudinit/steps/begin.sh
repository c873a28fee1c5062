
status=/var/lib/ocihpc/status.ndjson
mkdir -p "${status%/*}"
rm -f "$ready"
cat "$boot_status" >"$status" 2>/dev/null || : >"$status"
if grep -q '"exit":[1-9]' "$status"; then
    echo "ocihpc: bootcmd failed: see $log" >&2
    exit 1
fi

# complete marks the end of the set-up.
complete() {
    mkdir -p "$(dirname "$ready")"
    date -u +%Y-%m-%dT%H:%M:%SZ >"$ready"
    echo "the set-up is complete: $ready"
}
