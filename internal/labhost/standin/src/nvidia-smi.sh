#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# The lab's nvidia-smi: shows the GPUs that the file below promises for this host, each with "lab" in its
# name. It answers what checks ask for: the plain table, -L, and --query-gpu with --format=csv.

FILE=${OCIHPC_LAB_GPUS:-/etc/ocihpc-lab-gpus}
DRIVER=580.00-lab

if [ ! -r "$FILE" ]; then
	echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running. (lab: no $FILE)"
	exit 9
fi

mode=table query='' format='' only=''
while [ $# -gt 0 ]; do
	case $1 in
	-L | --list-gpus) mode=list ;;
	--query-gpu=*) mode=query query=${1#*=} ;;
	--query-gpu) mode=query query=$2 && shift ;;
	--format=*) format=${1#*=} ;;
	--format) format=$2 && shift ;;
	--id=*) only=${1#*=} ;;
	-i | --id) only=$2 && shift ;;
	-h | --help)
		echo "usage: nvidia-smi [-L | --query-gpu=FIELD,... --format=csv[,noheader][,nounits]] [-i INDEX]   (the lab's stand-in)"
		exit 0
		;;
	*)
		echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."
		exit 2
		;;
	esac
	shift
done

case $mode/$format in
query/csv | query/csv,*) ;;
query/*)
	echo '"--format=" switch is missing. Please run "nvidia-smi -h" for help.'
	exit 2
	;;
esac

# Stable and different on every host, as a UUID should be. A container has the name of its host in the file.
seed=$({ grep '^host=' "$FILE" || uname -n; } | sed 's/^host=//' | md5sum)

exec awk -F= -v mode="$mode" -v query="$query" -v format="$format" -v only="$only" -v seed="$seed" -v driver="$DRIVER" '
function uuid(i) {
	return sprintf("GPU-%s-%s-%s-%s-%s%02x", substr(seed, 1, 8), substr(seed, 9, 4), substr(seed, 13, 4),
		substr(seed, 17, 4), substr(seed, 21, 10), i)
}
function bus(i) { return sprintf("00000000:%02X:00.0", 16 + i) }

# unit[] holds the unit that the header and, without nounits, the value carry; known[] all fields.
function fields() {
	split("count index name gpu_name uuid gpu_uuid driver_version pci.bus_id gpu_bus_id serial vbios_version compute_cap persistence_mode mig.mode.current ecc.mode.current ecc.errors.corrected.volatile.total ecc.errors.uncorrected.volatile.total ecc.errors.corrected.aggregate.total ecc.errors.uncorrected.aggregate.total temperature.gpu", names, " ")
	for (n in names) known[names[n]] = 1
	unit["memory.total"] = unit["memory.used"] = unit["memory.free"] = "MiB"
	unit["utilization.gpu"] = unit["utilization.memory"] = "%"
	unit["power.draw"] = unit["power.limit"] = "W"
	for (n in unit) known[n] = 1
}
function value(field, i) {
	if (field == "count") return count
	if (field == "index") return i
	if (field == "name" || field == "gpu_name") return "lab " model
	if (field == "uuid" || field == "gpu_uuid") return uuid(i)
	if (field == "driver_version") return driver
	if (field == "pci.bus_id" || field == "gpu_bus_id") return bus(i)
	if (field == "memory.total" || field == "memory.free") return mib
	if (field == "memory.used" || field ~ /^utilization/ || field ~ /^ecc\.errors/) return 0
	if (field == "ecc.mode.current") return "Enabled"
	if (field == "persistence_mode") return "Enabled"
	if (field == "mig.mode.current") return "Disabled"
	return "[N/A]"
}
function fail(text, status) { print text; code = status; exit status }

$1 == "count" { count = $2 + 0 }
$1 == "visible" && only == "" { only = $2 } # the one that a container has
$1 == "model" { model = $2 }
$1 == "memory_bytes" { mib = int($2 / 1048576) }

END {
	if (code) exit code
	if (mode == "query") {
		fields()
		n = split(query, wanted, / *, */)
		for (f = 1; f <= n; f++) if (!(wanted[f] in known)) fail("Field \"" wanted[f] "\" is not a valid field to query.\n", 2)
	}
	if (count < 1) fail("No devices were found", 6)
	if (only != "" && (only !~ /^[0-9]+$/ || only + 0 >= count)) fail("No devices were found", 6)
	first = 0; last = count - 1
	if (only != "") first = last = only + 0

	if (mode == "list") {
		for (i = first; i <= last; i++) printf "GPU %d: lab %s (UUID: %s)\n", i, model, uuid(i)
		exit 0
	}
	if (mode == "query") {
		if (format !~ /noheader/) {
			for (f = 1; f <= n; f++) printf("%s%s%s", (f > 1 ? ", " : ""), wanted[f], ((wanted[f] in unit) ? " [" unit[wanted[f]] "]" : ""))
			print ""
		}
		for (i = first; i <= last; i++) {
			for (f = 1; f <= n; f++) {
				v = value(wanted[f], i)
				suffix = (((wanted[f] in unit) && format !~ /nounits/ && v != "[N/A]") ? " " unit[wanted[f]] : "")
				printf("%s%s%s", (f > 1 ? ", " : ""), v, suffix)
			}
			print ""
		}
		exit 0
	}
	line = "+-----------------------------------------------------------------------------------------+"
	print line
	printf "| NVIDIA-SMI %-20s Driver Version: %-16s CUDA Version: %-9s |\n", "lab", driver, "N/A"
	print line
	printf "| %-4s %-44s %-18s %18s |\n", "GPU", "Name", "Bus-Id", "Memory-Usage"
	print line
	for (i = first; i <= last; i++) printf "| %3d  %-44s %-18s %18s |\n", i, "lab " model, bus(i), "0MiB / " mib "MiB"
	print line
}' "$FILE"
