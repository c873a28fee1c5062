// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

func shapes(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"shapes"}, arguments...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestShapesTable(t *testing.T) {
	t.Parallel()
	text, err := shapes(t)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || len(lines) != len(shape.Names())+1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for shapeName, want := range map[string]string{
		"BM.GPU4.8":         "8 NVIDIA A100-SXM4-40GB 4 × 6.8 TB 16 × 100 Gb/s 185 GB/s 185 GB/s",
		"BM.GPU.B300.8":     "8 NVIDIA B300 SXM6 AC? 8 × 3.84 TB? 8 × 800 Gb/s? 700 GB/s? 700 GB/s?",
		"BM.GPU3.8":         "8 Tesla V100-SXM2-16GB 0 0 - -",
		"BM.GPU.GB200-v3.4": "4 NVIDIA GB200 4 × 7.68 TB? 4? × 800 Gb/s? - 300 GB/s?",
	} {
		found := false
		for _, line := range lines {
			if fields := strings.Fields(line); fields[0] == shapeName {
				found = strings.Join(fields[1:], " ") == want
				if !found {
					t.Errorf("%q, want %q", line, want)
				}
			}
		}
		if !found {
			t.Errorf("%s is not shown as it should be", shapeName)
		}
	}
}

func TestShapesOne(t *testing.T) {
	t.Parallel()
	text, err := shapes(t, "BM.GPU.H100.8")
	words := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"GPUs 8 high",
		"HCAs of each GPU mlx5_0,mlx5_1 mlx5_3,mlx5_4",
		"ib_write_bw at least, Gb/s 192 medium oci-hpc",
		"all_reduce, 2 node(s), from 16 GiB, measured, GB/s 471 medium",
		"NCCL variables IB_RX_QUEUE_LEN=8192 NCCL_CUMEM_ENABLE=0 NCCL_IB_GID_INDEX=3 high oci-hpc",
		"RDMA interfaces - unknown no public source found",
	} {
		if err != nil || !strings.Contains(words, want) {
			t.Errorf("no %q in (%v)\n%s", want, err, text)
		}
	}
}

func TestShapesJSON(t *testing.T) {
	t.Parallel()
	text, err := shapes(t, "--output", "json")
	var all []map[string]any
	if err != nil || json.Unmarshal([]byte(text), &all) != nil || len(all) != len(shape.Names()) {
		t.Fatalf("%d shapes, %v", len(all), err)
	}
	text, err = shapes(t, "BM.GPU3.8", "--output", "json")
	var one struct {
		Name string
		GPUs struct{ Value, Confidence, Source any }
		HCAs struct{ Value, Confidence, Source any }
	}
	if err != nil || json.Unmarshal([]byte(text), &one) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if one.GPUs.Value != 8.0 || one.GPUs.Confidence != "high" || one.HCAs.Value != nil || one.HCAs.Confidence != "unknown" || one.HCAs.Source == "" {
		t.Errorf("%+v", one)
	}
}

func TestShapesUnknown(t *testing.T) {
	t.Parallel()
	_, err := shapes(t, "BM.GPU.H100")
	if got := statusOf(err); got != 64 || !strings.Contains(err.Error(), "did you mean BM.GPU.H100.8?") {
		t.Errorf("status %d, %v", got, err)
	}
}
