grow_root() {
    growfs=/usr/libexec/oci-growfs
    if [ ! -x "$growfs" ]; then
        echo "skipped: this image has no $growfs"
        return
    fi
    code=0
    output=$("$growfs" -y 2>&1) || code=$?
    printf '%s\n' "$output"
    case $code:$output in
    0:*) echo 'the root file system has the size of its volume' ;;
    *:*NOCHANGE*) echo 'the root file system has the size of its volume already' ;;
    *) return "$code" ;;
    esac
}
