// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Kinds of failure of the transport.
const (
	KindWrongTransport   = "wrong_transport"   // sockets, where RDMA was asked for
	KindTransportUnknown = "transport_unknown" // NCCL's log does not tell
)

// UsesRDMA says whether the nodes of a run talked by RDMA. known is false where NCCL's log does not tell.
func UsesRDMA(l *job.NCCLLog) (rdma, known bool) {
	if l == nil {
		return false, false
	}
	// What carried data decides, then what NCCL meant to use.
	if connections(l, isSocket) > 0 {
		return false, true
	}
	if connections(l, isRDMA) > 0 {
		return true, true
	}
	return isRDMA(l.Network), isRDMA(l.Network) || isSocket(l.Network)
}

func isSocket(network string) bool { return network == netSocket }

// isRDMA knows NCCL's own network, and plugins of NVIDIA (HPC-X: IBext, SHARP, UCX).
func isRDMA(network string) bool {
	return strings.HasPrefix(network, netIB) || strings.HasPrefix(network, "UCX") || strings.HasPrefix(network, "SHARP")
}

// connections counts those by networks of a kind.
func connections(l *job.NCCLLog, of func(network string) bool) int {
	n := 0
	for name, count := range l.Channels {
		if network, ok := strings.CutPrefix(name, "NET/"); ok && of(network) {
			n += count
		}
	}
	return n
}

// wrongTransport is the failure of a run whose nodes did not talk by RDMA, or may not have; nil when they did.
func wrongTransport(l *job.NCCLLog) (job.Outcome, *job.Failure) {
	rdma, known := UsesRDMA(l)
	switch {
	case rdma:
		return job.Pass, nil
	case !known:
		return job.CouldNotRun, &job.Failure{Kind: KindTransportUnknown, Message: "NCCL's log does not tell whether the nodes talked by RDMA",
			Advice: "leave NCCL_DEBUG and NCCL_DEBUG_FILE unset, or set NCCL_DEBUG=INFO"}
	}
	over := ""
	if len(l.Devices) > 0 {
		over = " over " + listed(l.Devices, 4)
	}
	return job.Fail, &job.Failure{Kind: KindWrongTransport,
		Message: fmt.Sprintf("the nodes talked by TCP sockets%s, not by RDMA", over), Advice: whyNoRDMA(l)}
}

// whyNoRDMA says what NCCL's log shows of the reason, else what to look at.
func whyNoRDMA(l *job.NCCLLog) string {
	for name, reason := range map[string]string{"NCCL_IB_DISABLE": "1", "NCCL_NET": netSocket} {
		if strings.EqualFold(l.Settings[name], reason) {
			return fmt.Sprintf("%s=%s switches RDMA off: unset it", name, reason)
		}
	}
	for _, w := range l.Warnings {
		text := strings.ToLower(w.Message)
		switch {
		case strings.Contains(text, "ibv_reg_mr") || strings.Contains(text, "cannot allocate memory"):
			return fmt.Sprintf("%s could not register memory (%s): raise the limit of locked memory (memlock) to unlimited for the login user and for containers", w.Host, w.Message)
		case strings.Contains(text, "gid"):
			return fmt.Sprintf("%s: %s: see by show_gids which index is RoCE v2 over IPv4, and set NCCL_IB_GID_INDEX to it", w.Host, w.Message)
		}
	}
	if l.NoRDMADevice {
		list := ""
		if hcas := l.Settings["NCCL_IB_HCA"]; hcas != "" {
			list = fmt.Sprintf("; NCCL_IB_HCA=%s must name active ones of them", hcas)
		}
		return "NCCL found no RDMA device: see that ibv_devinfo shows active ports, in a container too (--device /dev/infiniband, libibverbs and its providers in the image)" + list
	}
	return "see that the locked memory limit is unlimited (ulimit -l), that NCCL_IB_HCA names active adapters (ibv_devinfo), that NCCL_IB_GID_INDEX is RoCE v2 over IPv4 (show_gids), " +
		"and that containers have /dev/infiniband; set transport to any where sockets are meant"
}
