umask 022
PATH=$PATH:/usr/sbin:/sbin
export PATH

log=/var/log/ocihpc-cloud-init.log
once=/var/lib/cloud/instance/ocihpc # cloud-init gives each instance its own

(umask 077 && : >>"$log")

# run STEP COMMAND...: run a step, log its output, record what came of it; a failed one ends the set-up.
run() {
    step=$1
    shift
    begin
    set +e
    (
        set -e
        "$@"
    ) </dev/null >>"$log" 2>&1
    code=$?
    set -e
    record "$code" "$(last_line)"
}

# run_once STEP COMMAND: the same for a user's own command, once in the life of an instance. Its output
# may hold secrets and stays in the log.
run_once() {
    if [ -e "$once/$1" ]; then
        step=$1
        begin
        record 0 'done before on this instance'
        return
    fi
    run_always "$@"
    mkdir -p "$once"
    : >"$once/$1"
}

run_always() {
    step=$1
    begin
    set +e
    sh -ec "$2" </dev/null >>"$log" 2>&1
    code=$?
    set -e
    record "$code" "output is in $log"
}

begin() {
    started=$(date +%s)
    printf '== %s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$step" >>"$log"
}

# last_line prints the last line that the step logged, fit for JSON.
last_line() {
    tail -n 1 "$log" | LC_ALL=C tr -cd '[:print:]\n' | cut -c 1-500 |
        sed -e '/^== /d' -e 's/[\\"]/\\&/g'
}

record() {
    printf '{"step":"%s","exit":%d,"seconds":%d,"message":"%s"}\n' \
        "$step" "$1" "$(($(date +%s) - started))" "$2" >>"$status"
    if [ "$1" -ne 0 ]; then
        echo "ocihpc: step $step failed with exit status $1: $2" >&2
        exit 1
    fi
}

fail() {
    echo "$1"
    exit 1
}
