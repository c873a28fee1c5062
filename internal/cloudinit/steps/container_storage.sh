# container_storage DIRECTORY: what containerd and Docker store lies there, whatever their settings say.
container_storage() {
    stopped=
    for engine in docker containerd; do
        if ! mountpoint -q "/var/lib/$engine" && systemctl is-active --quiet "$engine"; then
            systemctl stop "$engine"
            stopped="$engine $stopped"
        fi
    done
    for engine in containerd docker; do
        store=/var/lib/$engine
        here=$1/$engine
        mkdir -p "$here" "$store"
        chmod 711 "$here"
        if ! mountpoint -q "$store" && [ -z "$(ls -A "$here")" ]; then
            cp -a "$store/." "$here/"
        fi
        mount_at "$here" "$store" none "bind,nofail,x-systemd.requires-mounts-for=$1"
        if command -v restorecon >/dev/null; then
            restorecon -R "$store"
        fi
        # Without the mount an engine would fill the boot volume.
        unit=/etc/systemd/system/$engine.service.d/50-ocihpc-storage.conf
        if [ ! -e "$unit" ]; then
            mkdir -p "${unit%/*}"
            printf '[Unit]\nRequiresMountsFor=%s\n' "$store" >"$unit"
            systemctl daemon-reload
        fi
    done
    for engine in $stopped; do
        systemctl start "$engine"
    done
    echo "containerd and Docker store in $1"
}
