# nvme joins the local NVMe devices to one file system: made on the first boot, found again on later ones
# and after a change of the boot volume.
nvme() {
    for tool in blkid findmnt lsblk lvcreate mkfs.xfs mountpoint vgcreate; do
        command -v "$tool" >/dev/null || fail "$tool is not installed: add lvm2 and xfsprogs to packages"
    done
    devices=$(local_nvme)
    [ -n "$devices" ] || fail 'no local NVMe device was found'
    count=$(printf '%s\n' "$devices" | wc -l)

    volume_group
    logical_volume
    file_system
    mounted
    echo "$((count)) of $nvme_expected NVMe devices, XFS on $nvme_layout at $nvme_mount"
}

fail() {
    echo "$1"
    exit 1
}

# local_nvme prints each NVMe disk that is in this machine and not under the root file system.
local_nvme() {
    root=$(findmnt -nvo SOURCE /)
    boot=$(lsblk -nrso NAME "$root" 2>/dev/null || true)
    for device in /dev/nvme*n*; do
        name=${device#/dev/}
        case $name in
        *p* | *c*) continue ;; # partitions; single paths to a device
        esac
        [ -b "$device" ] || continue
        if printf '%s\n' "$boot" | grep -qxF "$name"; then
            continue
        fi
        transport=/sys/class/nvme/${name%n*}/transport
        if [ -r "$transport" ] && [ "$(cat "$transport")" != pcie ]; then
            continue
        fi
        echo "$device"
    done
}

# content prints what a device holds; nothing when it is blank.
content() {
    blkid -p -o value -s TYPE -s PTTYPE "$1" || case $? in
    2) ;; # blank
    *) echo 'something unreadable' ;;
    esac
}

volume_group() {
    if vgs "$nvme_group" >/dev/null 2>&1; then
        return
    fi
    adopt_devices
    if vgs "$nvme_group" >/dev/null 2>&1; then
        return
    fi
    for device in $devices; do
        found=$(content "$device")
        [ -z "$found" ] || fail "$device holds $found: if nothing on it is needed, run wipefs --all $device and reboot"
    done
    # shellcheck disable=SC2086 # one argument a device
    vgcreate "$nvme_group" $devices
}

# adopt_devices tells LVM of the devices where it sees only those in its list, which is new after a change
# of the boot volume.
adopt_devices() {
    [ -e /etc/lvm/devices/system.devices ] || return 0
    for device in $devices; do
        if [ "$(content "$device")" = LVM2_member ]; then
            lvmdevices -y --adddev "$device"
        fi
    done
}

logical_volume() {
    volume=/dev/$nvme_group/$nvme_volume
    if ! lvs "$nvme_group/$nvme_volume" >/dev/null 2>&1; then
        case $nvme_layout in
        lvm_striped) set -- --stripes "$((count))" --stripesize 256k ;;
        lvm_linear) set -- ;;
        esac
        lvcreate --yes --wipesignatures y "$@" --extents 100%FREE --name "$nvme_volume" "$nvme_group"
    fi
    if [ ! -b "$volume" ]; then
        vgchange --activate y "$nvme_group"
    fi
}

file_system() {
    found=$(content "$volume")
    case $found in
    '') mkfs.xfs -L "$nvme_label" "$volume" ;;
    xfs)
        if [ "$(blkid -p -o value -s LABEL "$volume")" != "$nvme_label" ]; then
            xfs_admin -L "$nvme_label" "$volume"
        fi
        ;;
    *) fail "$volume holds $found, not XFS" ;;
    esac
}

mounted() {
    line="LABEL=$nvme_label $nvme_mount xfs $nvme_options 0 0"
    touch /etc/fstab
    there=$(awk -v at="$nvme_mount" '$1 !~ /^#/ && $2 == at' /etc/fstab)
    if [ -z "$there" ]; then
        [ -z "$(tail -c 1 /etc/fstab)" ] || echo >>/etc/fstab
        echo "$line" >>/etc/fstab
        if [ -d /run/systemd/system ]; then
            systemctl daemon-reload
        fi
    elif [ "$there" != "$line" ]; then
        fail "/etc/fstab mounts something else at $nvme_mount: $there"
    fi
    mkdir -p "$nvme_mount"
    mountpoint -q "$nvme_mount" || mount "$nvme_mount"
}
