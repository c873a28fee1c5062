firewall_off() {
    if ! has_firewalld; then
        echo 'skipped: firewalld is not installed'
    elif systemctl is-active --quiet firewalld || systemctl is-enabled --quiet firewalld; then
        systemctl disable --now firewalld
        echo 'firewalld is off'
    else
        echo 'firewalld is off already'
    fi
}

firewall_on() {
    if ! has_firewalld; then
        echo 'firewalld is not installed: add it to packages'
        return 1
    fi
    if ! systemctl is-active --quiet firewalld || ! systemctl is-enabled --quiet firewalld; then
        systemctl enable --now firewalld
    fi
    echo 'firewalld is on'
}

has_firewalld() {
    for directory in /usr/lib /lib /etc; do
        if [ -e "$directory/systemd/system/firewalld.service" ]; then
            return 0
        fi
    done
    return 1
}
