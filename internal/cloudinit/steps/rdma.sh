# rdma_ports prints PCI address and interface of each RDMA port, in the order of the addresses: the ports of
# the shape's HCAs, or all but that of the default route.
rdma_ports() {
    default=$(default_device)
    for hca in /sys/class/infiniband/*; do
        [ -d "$hca/device/net" ] || continue
        case " $rdma_hcas " in
        *" ${hca##*/} "* | '  ') ;;
        *) continue ;;
        esac
        address=$(readlink -f "$hca/device")
        for device in "$hca/device/net"/*; do
            [ "${device##*/}" = "$default" ] || echo "${address##*/} ${device##*/}"
        done
    done | LC_ALL=C sort
}

default_device() { ip -4 -o route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1; }

rdma_devices() {
    devices=$(rdma_ports | cut -d ' ' -f 2)
    [ -n "$devices" ] || fail "no RDMA port was found${rdma_hcas:+ among the HCAs $rdma_hcas}"
    count=$(printf '%s\n' "$devices" | wc -l)
}

# set_value FILE NAME PATTERN VALUE: replace NAME's value, as far as PATTERN goes.
set_value() {
    sed -e "s|\\($2\\)$3|\\1$4|" "$1" >"$1.ocihpc"
    if cmp -s "$1" "$1.ocihpc"; then
        rm "$1.ocihpc"
    else
        cat "$1.ocihpc" >"$1"
        rm "$1.ocihpc"
        changed=yes
    fi
}

# rdma_agent has the plugins of Oracle Cloud Agent configure the ports.
rdma_agent() {
    file=/etc/oracle-cloud-agent/plugins/oci-hpc/oci-hpc-configure/rdma_network.json
    changed=
    if [ -n "$rdma_network" ]; then
        if [ -e "$file" ]; then
            set_value "$file" '"rdma_network": *' '"[^"]*"' "\"$rdma_network\""
            set_value "$file" '"netmask": *' '"[^"]*"' "\"$rdma_netmask\""
            set_value "$file" '"override_netconfig_netmask": *' '"[^"]*"' "\"$rdma_netmask\""
        else
            mkdir -p "${file%/*}"
            printf '{"default-settings": {"rdma_network": "%s", "overwrite_config_files": true, "single_subnet": true, "modify_subnet": true, "modify_arp": true},\n "subnet-settings": {"netmask": "%s", "override_netconfig_netmask": "%s"}}\n' \
                "$rdma_network" "$rdma_netmask" "$rdma_netmask" >"$file"
            changed=yes
        fi
    fi
    if [ -n "$changed" ]; then
        if [ -d /snap/oracle-cloud-agent ]; then
            snap restart oracle-cloud-agent
        else
            systemctl restart oracle-cloud-agent
        fi
    fi
    rdma_wait
}

# rdma_rpm has the package oci-rdma-configure of Oracle's images configure the ports.
rdma_rpm() {
    file=/etc/oci-hpc/rdma-network.conf
    [ -e "$file" ] || fail "this image has no $file: use an image for cluster networking, or another mode"
    changed=
    [ -z "$rdma_network" ] || set_value "$file" '^rdma_network *= *' '.*' "${rdma_network%/*}/$rdma_netmask"
    systemctl enable oci-rdma-configure
    if [ -n "$changed" ]; then
        systemctl restart oci-rdma-configure
    else
        systemctl start oci-rdma-configure
    fi
    rdma_wait
}

# rdma_manual gives each port a subnet of its own within the network. Ports count in the order of their PCI
# addresses, hosts as in the VCN, whose subnet may have any width.
rdma_manual() {
    can_authenticate || fail 'nothing on this image passes the RDMA ports through 802.1X: neither oci-cn-auth nor Oracle Cloud Agent is installed'
    rdma_devices
    vcn=$(ip -4 -o address show dev "$(default_device)" scope global | awk '{ print $4; exit }')
    [ -n "$vcn" ] || fail 'the interface of the default route has no IPv4 address'
    host_bits=$((32 - ${vcn#*/}))
    [ "$host_bits" -ge 8 ] || host_bits=8
    port_bits=0
    while [ $((1 << port_bits)) -lt "$count" ]; do
        port_bits=$((port_bits + 1))
    done
    room=$((32 - ${rdma_network#*/}))
    [ $((host_bits + port_bits)) -le "$room" ] ||
        fail "$rdma_network is too small for $((count)) ports in a VCN subnet as wide as that of $vcn: it needs /$((32 - host_bits - port_bits)) or wider"
    base=$(to_number "${rdma_network%/*}")
    own=$(to_number "${vcn%/*}")
    [ $((own >> room)) -ne $((base >> room)) ] || fail "$rdma_network holds the VCN's address ${vcn%/*}: choose another network"
    keep_off
    port=0
    for device in $devices; do
        address=$(to_address $((base + (port << host_bits) + (own & ((1 << host_bits) - 1)))))
        ip link set dev "$device" mtu "$rdma_mtu" up
        ip address replace "$address/$((32 - host_bits))" dev "$device"
        for setting in rp_filter=2 arp_ignore=1 arp_announce=2; do
            echo "${setting#*=}" >"/proc/sys/net/ipv4/conf/$device/${setting%=*}"
        done
        echo "$device $address/$((32 - host_bits))"
        port=$((port + 1))
    done
    rdma_wait
}

can_authenticate() {
    case $rdma_authentication in
    image) [ -e /opt/oci-hpc/oci-cn-auth ] || [ -e /usr/sbin/oci-cn-auth ] || [ -e /etc/systemd/system/oci-cn-auth.service ] || [ -e /usr/lib/systemd/system/oci-cn-auth.service ] ;;
    *) [ -e /snap/oracle-cloud-agent ] || [ -e /etc/oracle-cloud-agent ] ;;
    esac
}

# keep_off tells NetworkManager that these interfaces are none of its business.
keep_off() {
    [ -d /etc/NetworkManager/conf.d ] || return 0
    file=/etc/NetworkManager/conf.d/90-ocihpc-rdma.conf
    line=unmanaged-devices=
    for device in $devices; do
        line=${line}interface-name:$device\;
    done
    if ! grep -qxF "$line" "$file" 2>/dev/null; then
        printf '[keyfile]\n%s\n' "$line" >"$file"
        if systemctl is-active --quiet NetworkManager; then
            systemctl reload NetworkManager
        fi
    fi
}

to_number() {
    # shellcheck disable=SC2046 # four words
    set -- $(echo "$1" | tr . ' ')
    echo $((($1 << 24) + ($2 << 16) + ($3 << 8) + $4))
}

to_address() { echo "$(($1 >> 24 & 255)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"; }

# rdma_wait returns when every port is ready, and fails when the time is over.
rdma_wait() {
    until=$(($(date +%s) + rdma_wait_seconds))
    while
        reason=$(not_ready)
        [ -n "$reason" ]
    do
        [ "$(date +%s)" -lt "$until" ] || fail "not ready after $rdma_wait_seconds seconds: $reason"
        sleep "$rdma_poll"
    done
    rdma_devices
    echo "$((count)) RDMA ports are authenticated and have addresses"
}

# not_ready prints what the first port that is not ready lacks.
not_ready() {
    devices=$(rdma_ports | cut -d ' ' -f 2)
    count=$(printf '%s' "$devices" | grep -c '' || true)
    if [ "$count" -eq 0 ] || [ "$count" -lt "$rdma_expected" ]; then
        echo "$((count)) of $rdma_expected RDMA ports are there"
        return
    fi
    for device in $devices; do
        if [ -z "$(ip -o address show dev "$device" scope global)" ]; then
            echo "$device has no address"
        elif [ "$(cat "/sys/class/net/$device/mtu")" -lt "$rdma_mtu" ]; then
            echo "$device has MTU $(cat "/sys/class/net/$device/mtu"), not $rdma_mtu"
        elif ! wpa_cli -i "$device" status 2>/dev/null | grep -q AUTHENTICATED; then
            echo "$device is not authenticated"
        else
            continue
        fi
        return
    done
}
