// SPDX-License-Identifier: MPL-2.0

// Package standin makes the programs that take the place of GPU tools on lab hosts: nvidia-smi, which
// shows the GPUs of the host's shape, and nccl-tests' all_reduce_perf, which really all-reduces host
// memory over MPI. Both name every device with "lab".
package standin

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// GPUFilePath is where, on a lab host, the programs look for the host's GPUs (see [GPUFile]). It is a
// file, because mpirun hands no environment on; $OCIHPC_LAB_GPUS names another one.
const GPUFilePath = "/etc/ocihpc-lab-gpus"

// Names of the programs that [Build] writes.
const (
	AllReducePerf = "all_reduce_perf"
	NvidiaSMI     = "nvidia-smi"
)

// ErrNoCompiler says that this machine has no MPI compiler.
var ErrNoCompiler = errors.New("mpicc is not installed: install Open MPI with its compiler " +
	"(Debian, Ubuntu: openmpi-bin libopenmpi-dev; Oracle Linux: openmpi-devel) and put it into PATH")

//go:embed src/*.c src/*.h
var allReducePerfSource embed.FS

//go:embed src/nvidia-smi.sh
var nvidiaSMIScript []byte

// Build compiles all_reduce_perf for this machine and writes it and nvidia-smi, both executable, into
// outDir, which must exist. It fails with [ErrNoCompiler] or with the compiler's own messages.
func Build(ctx context.Context, outDir string) error {
	mpicc, err := exec.LookPath("mpicc")
	if err != nil {
		return fmt.Errorf("build the lab's %s: %w", AllReducePerf, ErrNoCompiler)
	}
	source, err := os.MkdirTemp("", "all_reduce_perf-")
	if err != nil {
		return fmt.Errorf("build the lab's %s: %w", AllReducePerf, err)
	}
	defer func() { _ = os.RemoveAll(source) }()
	if err := os.CopyFS(source, allReducePerfSource); err != nil {
		return fmt.Errorf("write the source of the lab's %s: %w", AllReducePerf, err)
	}
	target := filepath.Join(outDir, AllReducePerf)
	compile := exec.CommandContext(ctx, mpicc, "-std=gnu11", "-O2", "-Wall", "-o", target, filepath.Join(source, "src", "all_reduce_perf.c"), "-lm") // #nosec G204 -- mpicc of PATH, our own source
	if output, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the lab's %s: %w\n%s", AllReducePerf, err, strings.TrimSpace(string(output)))
	}
	script := filepath.Join(outDir, NvidiaSMI)
	if err := os.WriteFile(script, nvidiaSMIScript, 0o755); err != nil { // #nosec G306 -- a program
		return fmt.Errorf("write the lab's %s: %w", NvidiaSMI, err)
	}
	return nil
}

// GPUFile gives the content of the file at [GPUFilePath] for a host with this many GPUs of a model, such
// as NVIDIA A100-SXM4-40GB, each with memoryBytes of memory. The programs put "lab" before the model.
func GPUFile(gpus int, model string, memoryBytes int64) []byte {
	return fmt.Appendf(nil, "count=%d\nmodel=%s\nmemory_bytes=%d\n", gpus, model, memoryBytes)
}
