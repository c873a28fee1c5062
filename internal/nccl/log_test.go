// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// overRDMA are messages as NCCL 2.28 writes them over RoCE, written after its source.
const overRDMA = `gpu-1:100:100 [0] NCCL INFO NCCL version 2.28.3+cuda13.0
gpu-1:100:110 [0] NCCL INFO NCCL_IB_HCA set by environment to =mlx5_0,mlx5_3
gpu-1:100:110 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
gpu-1:100:110 [0] NCCL INFO NET/Plugin: Loaded net plugin IBext_v8 (v8)
gpu-1:100:110 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_3:1/RoCE [RO]; OOB eth0:10.0.0.2<0>
gpu-2:200:210 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_3:1/RoCE [RO]; OOB eth0:10.0.0.3<0>
gpu-1:100:110 [0] NCCL INFO Using network IB
gpu-1:100:110 [0] NCCL INFO 16 coll channels, 16 collnet channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer
gpu-1:100:111 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA
gpu-1:100:111 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1(3)/GDRDMA/Shared
gpu-1:100:111 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
gpu-1:100:112 [0] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 576 mtu 5 GID 3 (0/1064A8C0FFFF0000) fifoRkey=0x1b9e9c fifoLkey=0x1b9e9c
gpu-1:100:112 [0] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 34 mtu 3 query_ece={supported=0, vendor_id=0x0, options=0x0, comp_mask=0x0} GID 3 (0/19001EACFFFF0000) fifoRkey=0x4fd5
gpu-1:100:112 [0] NCCL INFO NET/IB: IbDev 0 Port 1 qpn 576 query_ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0}

[2026-11-21 05:15:25] gpu-2:200:212 [0] misc/socket.cc:7 NCCL WARN first of gpu-2
gpu-2:200:212 [0] misc/socket.cc:7 NCCL WARN second of gpu-2
`

func withLog(t *testing.T, messages string) Output {
	t.Helper()
	return parse(t, strings.Replace(readLog(t, "v2.19.6.all_reduce"), "#\n# Using devices", messages+"#\n# Using devices", 1), ptr(0))
}

func TestNCCLLog(t *testing.T) {
	t.Parallel()
	want := &job.NCCLLog{
		Version: "2.28.3+cuda13.0", Network: "IB", Plugin: "IBext_v8", Devices: []string{"mlx5_0:1/RoCE", "mlx5_3:1/RoCE"},
		Channels: map[string]int{"NET/IB": 2, "P2P/CUMEM": 1}, GPUDirectRDMA: ptr(true), GIDIndexes: []int{3}, QueuePairs: 2, NVLSChannels: ptr(16),
		Settings: map[string]string{"NCCL_IB_HCA": "=mlx5_0,mlx5_3", "NCCL_IB_GID_INDEX": "3"}, Warnings: []job.NCCLWarning{{Host: "gpu-2", Message: "first of gpu-2"}},
	}
	if got := encoded(t, withLog(t, overRDMA).NCCL); got != encoded(t, want) {
		t.Errorf("\n got %s\nwant %s", got, encoded(t, want))
	}
	tagged := strings.ReplaceAll(strings.TrimRight(overRDMA, "\n"), "\n", "\n[1,0]<stdout>:")
	if got := encoded(t, parse(t, "[1,0]<stdout>:"+tagged+"\n", ptr(0)).NCCL); got != encoded(t, want) {
		t.Errorf("with tags: %s", got)
	}
	if log := withLog(t, "NCCL version 2.19.3+cuda12.3\n").NCCL; log == nil || log.Version != "2.19.3+cuda12.3" {
		t.Errorf("version alone: %s", encoded(t, log))
	}
	if log := withLog(t, "vm:1:1 [0] NCCL INFO cudaDriverVersion 13000\n").NCCL; log != nil {
		t.Errorf("nothing told: %s", encoded(t, log))
	}
	many := strings.Repeat("vm:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via X"+"\n", 3)
	for i := range 2 * mostKept {
		many += "vm:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via X" + strings.Repeat("y", i+1) + "\n"
	}
	if log := withLog(t, many).NCCL; len(log.Channels) != mostKept || log.Channels["X"] != 3 {
		t.Errorf("%d kinds of channels", len(log.Channels))
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		messages string
		outcome  job.Outcome
		kind     string
		advice   string
	}{
		"RDMA":           {overRDMA, job.Pass, "", ""},
		"RDMA was meant": {"a:1:1 [0] NCCL INFO Using network IBext_v8\n", job.Pass, "", ""},
		"no device": {"a:1:1 [0] NCCL INFO NET/IB : No device found.\na:1:1 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_9.\na:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>\na:1:1 [0] NCCL INFO Using network Socket\n",
			job.Fail, KindWrongTransport, "NCCL_IB_HCA=mlx5_9 must name"},
		"memlock": {"a:1:1 [0] NCCL INFO Using network Socket\na:1:1 [0] x.cc:7 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n",
			job.Fail, KindWrongTransport, "memlock"},
		"switched off":               {"a:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\na:1:1 [0] NCCL INFO Using network Socket\n", job.Fail, KindWrongTransport, "unset it"},
		"one by sockets":             {overRDMA + "gpu-2:1:1 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/Socket/0\n", job.Fail, KindWrongTransport, "ulimit -l"},
		"a plugin that nobody knows": {"a:1:1 [0] NCCL INFO Using network Mesh\n", job.CouldNotRun, KindTransportUnknown, "NCCL_DEBUG"},
		"no log":                     {"", job.CouldNotRun, KindTransportUnknown, "NCCL_DEBUG=INFO"},
	} {
		output := withLog(t, test.messages)
		outcome, f := Right(output.Reports, output.Failure, Want{Ranks: 2, Hosts: 1, RDMA: true, NCCL: output.NCCL})
		if outcome != test.outcome || (f == nil) != (test.kind == "") {
			t.Errorf("%s: %s %+v", name, outcome, f)
		} else if f != nil && (f.Kind != test.kind || !strings.Contains(f.Advice, test.advice)) {
			t.Errorf("%s: %+v", name, f)
		}
		if outcome, _ := Right(output.Reports, output.Failure, Want{Ranks: 2, Hosts: 1, NCCL: output.NCCL}); outcome != job.Pass {
			t.Errorf("%s: not asked for, yet %s", name, outcome)
		}
	}
}
