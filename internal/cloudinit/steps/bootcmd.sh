
status=$boot_status
mkdir -p "$(dirname "$status")"
: >"$status"
rm -f "$ready"
