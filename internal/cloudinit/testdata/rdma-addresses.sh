#!/bin/sh
# Gives each RDMA interface of BM.GPU4.8 the address 192.168.<number>.<last octet of the VCN address>.
set -eu
octet=$(ip -4 -o address show dev enp45s0f0 | awk '{ split($4, a, "[./]"); print a[4] }')
number=0
for bus in 12 22 72 76 138 148 195 209; do
    for function in 0 1; do
        device=enp${bus}s0f$function
        cat >"/etc/sysconfig/network-scripts/ifcfg-$device" <<END
TYPE=Ethernet
BOOTPROTO=none
IPADDR=192.168.$number.$octet
NETMASK=255.255.255.0
DEFROUTE=no
IPV6INIT=no
DEVICE=$device
ONBOOT=yes
NM_CONTROLLED=no
END
        ifup "$device"
        number=$((number + 1))
    done
done
