# nvme makes file systems on the local NVMe devices: on the first boot, found again on later ones and after a
# change of the boot volume.
nvme() {
    case $nvme_layout in
    lvm*) needs 'lvm2' vgcreate lvcreate ;;
    raid*) needs 'mdadm' mdadm ;;
    esac
    case $nvme_fs in
    xfs) needs 'xfsprogs' mkfs.xfs ;;
    ext4) needs 'e2fsprogs' mkfs.ext4 ;;
    esac
    needs 'util-linux' blkid findmnt lsblk mountpoint
    devices=$(local_nvme)
    [ -n "$devices" ] || fail 'no local NVMe device was found'
    count=$(printf '%s\n' "$devices" | wc -l)

    case $nvme_layout in
    lvm*)
        volume=/dev/$nvme_group/$nvme_volume
        volume_group
        logical_volume
        mounted "$volume" "$nvme_label" "$nvme_mount"
        ;;
    raid*)
        array
        mounted "$volume" "$nvme_label" "$nvme_mount"
        ;;
    per_disk) each_disk ;;
    esac
    echo "$((count)) of $nvme_expected NVMe devices, $nvme_fs on $nvme_layout at $nvme_mount"
}

needs() {
    package=$1
    shift
    for tool; do
        command -v "$tool" >/dev/null || fail "$tool is not installed: add $package to packages"
    done
}

# local_nvme prints each NVMe disk that is in this machine and not under the root file system, in the order
# of their PCI addresses.
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
        controller=/sys/class/nvme/${name%n*}
        if [ -r "$controller/transport" ] && [ "$(cat "$controller/transport")" != pcie ]; then
            continue
        fi
        echo "$(cat "$controller/address" 2>/dev/null || echo none) $device"
    done | LC_ALL=C sort | cut -d ' ' -f 2
}

# content prints what a device holds; nothing when it is blank.
content() {
    blkid -p -o value -s TYPE -s PTTYPE "$1" || case $? in
    2) ;; # blank
    *) echo 'something unreadable' ;;
    esac
}

label_of() { blkid -p -o value -s LABEL "$1" || true; }

must_be_blank() {
    for device; do
        found=$(content "$device")
        [ -z "$found" ] || fail "$device holds $found: if nothing on it is needed, run wipefs --all $device and reboot"
    done
}

volume_group() {
    if vgs "$nvme_group" >/dev/null 2>&1; then
        return
    fi
    adopt_devices
    if vgs "$nvme_group" >/dev/null 2>&1; then
        return
    fi
    # shellcheck disable=SC2086 # one argument a device
    must_be_blank $devices
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
    if ! lvs "$nvme_group/$nvme_volume" >/dev/null 2>&1; then
        case $nvme_layout in
        lvm_striped) set -- --stripes "$((count))" --stripesize 256k ;;
        lvm) set -- ;;
        esac
        lvcreate --yes --wipesignatures y "$@" --extents 100%FREE --name "$nvme_volume" "$nvme_group"
    fi
    if [ ! -b "$volume" ]; then
        vgchange --activate y "$nvme_group"
    fi
}

# array finds the md array by its name, which holds on any host, or makes it.
array() {
    volume=/dev/md/$nvme_array
    by_name=/dev/disk/by-id/md-name-any:$nvme_array
    if [ ! -b "$volume" ] && [ -b "$by_name" ]; then
        volume=$by_name # assembled by the system, under a name of its choice
    fi
    [ ! -b "$volume" ] || return 0
    members=
    for device in $devices; do
        if [ "$(content "$device")" = linux_raid_member ]; then
            members="$members $device"
        fi
    done
    if [ -n "$members" ]; then
        # shellcheck disable=SC2086 # one argument a device
        mdadm --assemble --run "$volume" --name="$nvme_array" $members
        return
    fi
    # shellcheck disable=SC2086 # one argument a device
    must_be_blank $devices
    force=
    [ "$count" -gt 1 ] || force=--force
    # shellcheck disable=SC2086 # one argument a device
    mdadm --create "$volume" --run $force --homehost=any --name="$nvme_array" --metadata=1.2 \
        --level="${nvme_layout#raid}" --chunk=256 --raid-devices="$((count))" $devices
}

# each_disk mounts every device by the number in its label; a blank one gets the lowest number that is free.
each_disk() {
    taken=' '
    for device in $devices; do
        number=$(number_of "$device")
        [ -z "$number" ] || taken="$taken$number "
    done
    for device in $devices; do
        number=$(number_of "$device")
        if [ -z "$number" ]; then
            must_be_blank "$device"
            number=0
            while case $taken in *" $number "*) true ;; *) false ;; esac do
                number=$((number + 1))
            done
            taken="$taken$number "
        fi
        mounted "$device" "$nvme_label$number" "$nvme_mount/disk$number"
    done
}

# number_of prints the number in a device's label, when it is one of ours.
number_of() {
    [ "$(content "$1")" = "$nvme_fs" ] || return 0
    label=$(label_of "$1")
    case ${label#"$nvme_label"} in
    "$label" | '' | *[!0-9]*) ;;
    *) echo "${label#"$nvme_label"}" ;;
    esac
}

# mounted DEVICE LABEL DIRECTORY: a file system of that label on the device, mounted now and at each boot.
mounted() {
    found=$(content "$1")
    case $found in
    '') "mkfs.$nvme_fs" -L "$2" "$1" ;;
    "$nvme_fs")
        if [ "$(label_of "$1")" != "$2" ]; then
            case $nvme_fs in
            xfs) xfs_admin -L "$2" "$1" ;;
            ext4) e2label "$1" "$2" ;;
            esac
        fi
        ;;
    *) fail "$1 holds $found, not $nvme_fs" ;;
    esac
    mount_at "LABEL=$2" "$3" "$nvme_fs" "$nvme_options"
}

# mount_at SOURCE DIRECTORY TYPE OPTIONS
mount_at() {
    line="$1 $2 $3 $4 0 0"
    touch /etc/fstab
    there=$(awk -v at="$2" '$1 !~ /^#/ && $2 == at' /etc/fstab)
    if [ -z "$there" ]; then
        [ -z "$(tail -c 1 /etc/fstab)" ] || echo >>/etc/fstab
        echo "$line" >>/etc/fstab
        if [ -d /run/systemd/system ]; then
            systemctl daemon-reload
        fi
    elif [ "$there" != "$line" ]; then
        fail "/etc/fstab mounts something else at $2: $there"
    fi
    mkdir -p "$2"
    mountpoint -q "$2" || mount "$2"
}
