# engine NAME TOOLKIT: a container engine, and NVIDIA's toolkit if TOOLKIT is yes, where they are missing.
engine() {
    if ! command -v "$1" >/dev/null; then
        install_engine "$1"
    fi
    if [ "$2" = yes ]; then
        command -v nvidia-ctk >/dev/null || install_toolkit
        before=$(cat "$(engine_config "$1")" 2>/dev/null || true)
        nvidia-ctk runtime configure --runtime="$1"
        if [ "$before" != "$(cat "$(engine_config "$1")")" ] && systemctl is-active --quiet "$1"; then
            systemctl restart "$1"
        fi
    fi
    systemctl enable --now "$1"
    echo "$1 is running"
}

engine_config() {
    case $1 in
    docker) echo /etc/docker/daemon.json ;;
    containerd) echo /etc/containerd/config.toml ;;
    esac
}

install_engine() {
    if command -v apt-get >/dev/null; then
        case $1 in
        docker) apt_install docker.io ;;
        containerd) apt_install containerd ;;
        esac
        return
    fi
    # shellcheck disable=SC2016 # for the package manager to fill in
    printf '[docker-ce-stable]\nname=Docker CE Stable - $basearch\nbaseurl=https://download.docker.com/linux/centos/$releasever/$basearch/stable\nenabled=1\ngpgcheck=1\ngpgkey=https://download.docker.com/linux/centos/gpg\n' \
        >/etc/yum.repos.d/docker-ce.repo
    case $1 in
    docker) yum_install docker-ce ;;
    containerd) yum_install containerd.io ;;
    esac
}

install_toolkit() {
    source=https://nvidia.github.io/libnvidia-container
    if command -v apt-get >/dev/null; then
        key=/etc/apt/keyrings/nvidia-container-toolkit.asc
        mkdir -p "${key%/*}"
        curl -fsSL --retry 3 -o "$key" $source/gpgkey
        echo "deb [signed-by=$key] $source/stable/deb/$(dpkg --print-architecture) /" >/etc/apt/sources.list.d/nvidia-container-toolkit.list
        apt_install nvidia-container-toolkit
        return
    fi
    # shellcheck disable=SC2016 # for the package manager to fill in
    printf '[nvidia-container-toolkit]\nname=NVIDIA Container Toolkit\nbaseurl=%s/stable/rpm/$basearch\nenabled=1\ngpgcheck=0\nrepo_gpgcheck=1\ngpgkey=%s/gpgkey\n' \
        $source $source >/etc/yum.repos.d/nvidia-container-toolkit.repo
    yum_install nvidia-container-toolkit
}

apt_install() {
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get -y install "$1"
}

yum_install() {
    if command -v dnf >/dev/null; then
        dnf -y install "$1"
    else
        yum -y install "$1"
    fi
}

# pull ENGINE IMAGE: pull an image that is not there, with three attempts.
pull() {
    for attempt in 1 2 3; do
        if has_image "$1" "$2"; then
            echo "$2 is there"
            return
        fi
        case $1 in
        docker) docker pull "$2" ;;
        containerd) ctr images pull "$2" ;;
        esac && continue
        [ "$attempt" = 3 ] || sleep "$((attempt * 5))"
    done
    has_image "$1" "$2"
}

has_image() {
    case $1 in
    docker) docker image inspect "$2" >/dev/null 2>&1 ;;
    containerd) ctr images list -q | grep -qxF "$2" ;;
    esac
}
