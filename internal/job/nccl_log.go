// SPDX-License-Identifier: MPL-2.0

package job

// NCCLLog is what NCCL's own log (NCCL_DEBUG=INFO) tells of a run. What it does not tell is nil or empty.
type NCCLLog struct {
	// Version of NCCL, such as 2.28.3+cuda13.0.
	Version string `json:"version,omitempty"`
	// Network is what NCCL uses between nodes: IB, Socket, or the name of a plugin; the worse of several.
	Network string `json:"network,omitempty"`
	// Plugin is the network plugin that was loaded; empty for NCCL's own networks.
	Plugin string `json:"plugin,omitempty"`
	// Devices of that network, such as mlx5_0:1/RoCE or eth0:10.0.0.2<0>, of all hosts.
	Devices []string `json:"devices,omitempty"`
	// Channels counts the connections by what carries them, such as NET/IB, NET/Socket, P2P/CUMEM and SHM.
	Channels map[string]int `json:"channels,omitempty"`
	// GPUDirectRDMA says whether the network reads and writes GPU memory itself.
	GPUDirectRDMA *bool `json:"gpu_direct_rdma,omitempty"`
	// NoRDMADevice says that a rank found no RDMA device that it may use.
	NoRDMADevice bool `json:"no_rdma_device,omitempty"`
	// GIDIndexes of the RoCE queue pairs, each once.
	GIDIndexes []int `json:"gid_indexes,omitempty"`
	// QueuePairs is how many the ranks opened.
	QueuePairs int `json:"queue_pairs,omitempty"`
	// NVLSChannels is 0 where NVLink SHARP is off.
	NVLSChannels *int `json:"nvls_channels,omitempty"`
	// Settings are the variables that NCCL found in its environment or configuration file.
	Settings map[string]string `json:"settings,omitempty"`
	// Warnings are the first warning of each host.
	Warnings []NCCLWarning `json:"warnings,omitempty"`
}

// NCCLWarning is a line that NCCL logged at level WARN.
type NCCLWarning struct {
	Host    string `json:"host"`
	Message string `json:"message"`
}
