#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# The lab's nvidia-smi: shows the GPUs that the file below promises for this host, each with "lab" in its
# name. It answers what checks ask for: the plain table, -L, --query-gpu with --format=csv, -q -x, and nvlink -s.
#
# GPUs are healthy. A line GPU.ELEMENT=VALUE in the file changes what -q -x says of a GPU (* is all of them), and
# GPU.nvlink/LINK=VALUE a link:
#
#   3.ecc_errors/volatile/dram_uncorrectable=2
#   *.persistence_mode=Disabled
#   0.nvlink/7=<inactive>

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
	-q | --query) mode=details ;;
	-x | --xml-format) format=xml ;;
	nvlink) mode=nvlink ;;
	-s | --status) format=status ;;
	-h | --help)
		echo "usage: nvidia-smi [-L | --query-gpu=FIELD,... --format=csv[,noheader][,nounits] | -q -x] [-i INDEX]   (the lab's stand-in)"
		echo "       nvidia-smi nvlink -s [-i INDEX]"
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
query/csv | query/csv,* | list/ | table/ | details/xml | nvlink/status) ;;
query/*)
	echo '"--format=" switch is missing. Please run "nvidia-smi -h" for help.'
	exit 2
	;;
*)
	echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."
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
# links of a GPU, as many as its model has.
function links() {
	if (model ~ /V100-SXM2/) return 6
	if (model ~ /A100-SXM4/) return 12
	if (model ~ /H100 80GB HBM3|H200|B200|B300/) return 18
	return 0
}
# elements gives the part of -q -x that is about the health of a GPU: paths and values, in its order.
function elements(i, registered) {
	registered = links() == 18
	n = 0
	element("product_name", "lab " model); element("persistence_mode", "Enabled")
	element("uuid", uuid(i)); element("vbios_version", "00.00.00.00-lab"); element("gpu_recovery_action", "None")
	element("pci/pci_gpu_link_info/pcie_gen/max_link_gen", 4); element("pci/pci_gpu_link_info/pcie_gen/current_link_gen", 4)
	element("pci/pci_gpu_link_info/link_widths/max_link_width", "16x"); element("pci/pci_gpu_link_info/link_widths/current_link_width", "16x")
	element("performance_state", "P0")
	split("hw_slowdown hw_thermal_slowdown hw_power_brake_slowdown sw_thermal_slowdown", reasons, " ")
	for (r = 1; r in reasons; r++) element("clocks_event_reasons/clocks_event_reason_" reasons[r], "Not Active")
	element("fb_memory_usage/total", mib " MiB"); element("ecc_mode/current_ecc", "Enabled")
	split("volatile aggregate", since, " ")
	split("sram_correctable sram_uncorrectable_parity sram_uncorrectable_secded dram_correctable dram_uncorrectable", counters, " ")
	for (s = 1; s in since; s++) for (c = 1; c in counters; c++) element("ecc_errors/" since[s] "/" counters[c], 0)
	element("ecc_errors/aggregate/sram_threshold_exceeded", "No")
	element("remapped_rows/remapped_row_unc", 0); element("remapped_rows/remapped_row_pending", "No"); element("remapped_rows/remapped_row_failure", "No")
	element("remapped_rows/row_remapper_histogram/row_remapper_histogram_none", "0 bank(s)")
	element("applications_clocks/graphics_clock", "1000 MHz"); element("default_applications_clocks/graphics_clock", "1000 MHz")
	element("fabric/state", registered ? "Completed" : "N/A"); element("fabric/status", registered ? "Success" : "N/A")
	element("fabric/health/route_unhealthy", registered ? "False" : "N/A")
}
function element(path, healthy) { paths[++n] = path; text[n] = healthy }
# said is what a GPU says, healthy or as the file has it.
function said(i, path, healthy) {
	if ((i "." path) in sick) return sick[i "." path]
	return ("*." path) in sick ? sick["*." path] : healthy
}
# xml prints the elements of a GPU; those with a common folder share its tags.
function xml(i, e, d, depth, names, open, same) {
	printf "\t<gpu id=\"%s\">\n", bus(i)
	elements(i)
	depth = 0
	for (e = 1; e <= n + 1; e++) {
		d = e > n ? 0 : split(paths[e], names, "/") - 1
		for (same = 0; same < depth && same < d && open[same + 1] == names[same + 1]; same++);
		for (; depth > same; depth--) print indent(depth) "</" open[depth] ">"
		for (; depth < d; depth++) { open[depth + 1] = names[depth + 1]; print indent(depth + 1) "<" names[depth + 1] ">" }
		if (e <= n) printf "%s<%s>%s</%s>\n", indent(d + 1), names[d + 1], said(i, paths[e], text[e]), names[d + 1]
	}
	print "\t</gpu>"
}
function indent(depth, tabs) { for (tabs = "\t"; depth > 0; depth--) tabs = tabs "\t"; return tabs }
function fail(text, status) { print text; code = status; exit status }

$1 == "count" { count = $2 + 0 }
$1 == "visible" && only == "" { only = $2 } # the one that a container has
$1 == "model" { model = $2 }
$1 == "memory_bytes" { mib = int($2 / 1048576) }
$1 ~ /^([0-9]+|\*)\./ { sick[$1] = $2 }

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
	if (mode == "details") {
		print "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>"
		printf "\t<driver_version>%s</driver_version>\n\t<attached_gpus>%d</attached_gpus>\n", driver, count
		for (i = first; i <= last; i++) xml(i)
		print "</nvidia_smi_log>"
		exit 0
	}
	if (mode == "nvlink") {
		for (i = first; i <= last; i++) {
			printf "GPU %d: lab %s (UUID: %s)\n", i, model, uuid(i)
			for (link = 0; link < links(); link++) printf "\t Link %d: %s\n", link, said(i, "nvlink/" link, "25 GB/s")
		}
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
