// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// ncclLog collects what NCCL's messages tell. The forms are those of NCCL 2.4 to 2.28.
type ncclLog struct {
	log      job.NCCLLog
	networks map[string]bool     // "Using network"
	devices  map[string][]string // by network
	direct   int                 // connections with GPUDirect RDMA
	warned   map[string]bool     // hosts
}

// mostKept bounds what a foreign log can make us keep, a list.
const mostKept = 256

var (
	usedDevice = regexp.MustCompile(`\[[0-9]+\](\S+)`)
	carrier    = regexp.MustCompile(`^(?:Channel|Ring) .* via ([A-Za-z0-9_./()-]+)`)
	queuePair  = regexp.MustCompile(`\bqpn [0-9]+ .*\bGID (-?[0-9]+) `)
	nvls       = regexp.MustCompile(`\b([0-9]+) nvls channels\b`)
	setByUser  = regexp.MustCompile(`^(NCCL_[A-Z0-9_]+) set by environment to (.*?)\.?$`)
	plugin     = regexp.MustCompile(`^(?:NET/Plugin ?: )?(?:Loaded net plugin|Successfully loaded external network plugin) (\S+)`)
)

// lookBare takes a line without NCCL's prefix: with NCCL_DEBUG=VERSION, and before 2.20, the version stands so.
func (l *ncclLog) lookBare(line string) {
	if version, ok := strings.CutPrefix(line, "NCCL version "); ok && l.log.Version == "" {
		l.log.Version = firstWord(version)
	}
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// look takes a message of a host.
func (l *ncclLog) look(host, level, message string) {
	if level == "WARN" {
		l.warn(host, message)
		return
	}
	// The most frequent ones first; the expressions are slow.
	switch {
	case strings.HasPrefix(message, "Channel ") || strings.HasPrefix(message, "Ring "):
		l.connection(message)
	case strings.HasPrefix(message, "NET/"):
		l.network(message)
	case strings.HasPrefix(message, "Using network "):
		set(&l.networks, strings.TrimSpace(strings.TrimPrefix(message, "Using network ")), true)
	case strings.Contains(message, " set by environment to "):
		if m := setByUser.FindStringSubmatch(message); m != nil && len(l.log.Settings) < mostKept {
			set(&l.log.Settings, m[1], m[2])
		}
	case strings.Contains(message, " nvls channels"):
		if m := nvls.FindStringSubmatch(message); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && (l.log.NVLSChannels == nil || n < *l.log.NVLSChannels) {
				l.log.NVLSChannels = &n
			}
		}
	case strings.HasPrefix(message, "Successfully loaded external network plugin "):
		l.plugin(message)
	default:
		l.lookBare(message)
	}
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

func (l *ncclLog) warn(host, message string) {
	if message == "" || l.warned[host] || len(l.log.Warnings) >= mostKept {
		return
	}
	set(&l.warned, host, true)
	l.log.Warnings = append(l.log.Warnings, job.NCCLWarning{Host: host, Message: message})
}

// connection takes a line such as "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/2(3)/GDRDMA".
func (l *ncclLog) connection(message string) {
	m := carrier.FindStringSubmatch(message)
	if m == nil {
		return
	}
	parts := strings.Split(m[1], "/")
	name := parts[0]
	if len(parts) > 1 && (name == "NET" || name == "P2P") {
		name += "/" + parts[1]
	}
	if _, known := l.log.Channels[name]; !known && len(l.log.Channels) >= mostKept {
		return
	}
	set(&l.log.Channels, name, l.log.Channels[name]+1)
	if slices.Contains(parts, "GDRDMA") {
		l.direct++
	}
}

// network takes a line such as "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.2<0>".
func (l *ncclLog) network(message string) {
	if m := queuePair.FindStringSubmatch(message); m != nil {
		l.log.QueuePairs++
		if index, err := strconv.Atoi(m[1]); err == nil && !slices.Contains(l.log.GIDIndexes, index) && len(l.log.GIDIndexes) < mostKept {
			l.log.GIDIndexes = append(l.log.GIDIndexes, index)
		}
		return
	}
	name, rest, ok := strings.Cut(strings.TrimPrefix(message, "NET/"), ":")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	switch {
	case !ok:
	case name == "Plugin":
		l.plugin(message)
	case strings.HasPrefix(rest, "Using "):
		for _, m := range usedDevice.FindAllStringSubmatch(rest, -1) {
			device := m[1]
			if name == netSocket { // each host has an address of its own
				device, _, _ = strings.Cut(device, ":")
			}
			if known := l.devices[name]; !slices.Contains(known, device) && len(known) < mostKept {
				set(&l.devices, name, append(known, device))
			}
		}
	case strings.HasPrefix(rest, "No device found"):
		l.log.NoRDMADevice = true
	}
}

func (l *ncclLog) plugin(message string) {
	if m := plugin.FindStringSubmatch(message); m != nil {
		l.log.Plugin = m[1]
	}
}

// Networks as NCCL calls them.
const (
	netSocket = "Socket"
	netIB     = "IB"
)

// result puts together what was collected; nil when NCCL said nothing of it.
func (l *ncclLog) result() *job.NCCLLog {
	log := l.log
	networks := slices.Sorted(maps.Keys(l.networks))
	if l.networks[netSocket] { // the worse of several
		log.Network = netSocket
	} else if len(networks) > 0 {
		log.Network = networks[0]
	}
	log.Devices = l.devices[log.Network]
	if log.Devices == nil && log.Network != netSocket && log.Network != "" { // plugins use NCCL's own code for it
		log.Devices = l.devices[netIB]
	}
	if connections(&log, isRDMA) > 0 {
		direct := l.direct > 0
		log.GPUDirectRDMA = &direct
	}
	if reflect.DeepEqual(log, job.NCCLLog{}) {
		return nil
	}
	slices.Sort(log.GIDIndexes)
	return &log
}
