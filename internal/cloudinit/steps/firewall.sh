firewall_off() {
    if ! has_firewalld; then
        open_tables iptables
        open_tables ip6tables
        echo 'skipped: firewalld is not installed'
    elif systemctl is-active --quiet firewalld || systemctl is-enabled --quiet firewalld; then
        systemctl disable --now firewalld
        echo 'firewalld is off'
    else
        echo 'firewalld is off already'
    fi
}

# open_tables takes away the rules by which Oracle's Ubuntu images reject what comes in; those that guard
# the boot volume stay.
open_tables() {
    command -v "$1" >/dev/null || return 0
    for chain in INPUT FORWARD; do
        "$1" -S "$chain" | { grep -e '-j REJECT' || true; } | while read -r _ rule; do
            # shellcheck disable=SC2086 # words of a rule
            "$1" -D $rule
        done
    done
}

# firewall_on CIDR...: firewalld, with everything let in from these networks.
firewall_on() {
    if ! has_firewalld; then
        [ $# -gt 0 ] || fail 'firewalld is not installed: add it to packages'
        allow_by_tables "$@"
        return
    fi
    if ! systemctl is-active --quiet firewalld || ! systemctl is-enabled --quiet firewalld; then
        systemctl enable --now firewalld
    fi
    changed=
    for cidr; do
        if ! firewall-cmd --permanent --zone=trusted --query-source="$cidr"; then
            firewall-cmd --permanent --zone=trusted --add-source="$cidr"
            changed=yes
        fi
    done
    [ -z "$changed" ] || firewall-cmd --reload
    echo "firewalld is on, open for: ${*:-its own rules}"
}

# allow_by_tables is for Oracle's Ubuntu images, whose firewall is plain rules of iptables.
allow_by_tables() {
    for cidr; do
        case $cidr in
        *:*) tables=ip6tables ;;
        *) tables=iptables ;;
        esac
        command -v $tables >/dev/null || fail "neither firewalld nor $tables is installed: add firewalld to packages"
        $tables -C INPUT -s "$cidr" -j ACCEPT 2>/dev/null || $tables -I INPUT 1 -s "$cidr" -j ACCEPT
    done
    echo "iptables lets in: $*"
}

has_firewalld() {
    for directory in /usr/lib /lib /etc; do
        if [ -e "$directory/systemd/system/firewalld.service" ]; then
            return 0
        fi
    done
    return 1
}
