// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

func shapeStep(name string, checks map[string]knownvalue.Check) resource.TestStep {
	step := resource.TestStep{Config: fmt.Sprintf("data \"ocihpc_shape\" \"this\" {\n  name = %s\n}\n", name)}
	for attribute, check := range checks {
		step.ConfigStateChecks = append(step.ConfigStateChecks,
			statecheck.ExpectKnownValue("data.ocihpc_shape.this", tfjsonpath.New(attribute), check))
	}
	return step
}

func TestAccShape(t *testing.T) {
	origin := func(confidence, source string) knownvalue.Check {
		return knownvalue.ObjectExact(map[string]knownvalue.Check{
			"confidence": knownvalue.StringExact(confidence), "source": knownvalue.StringRegexp(regexp.MustCompile(source)),
		})
	}
	limit := func(value knownvalue.Check, confidence string) knownvalue.Check {
		return knownvalue.ObjectExact(map[string]knownvalue.Check{
			"gb_per_s": value, "confidence": knownvalue.StringExact(confidence), "source": knownvalue.NotNull(),
		})
	}
	const values = 26 // of shape.Shape with an origin, bandwidths aside
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			shapeStep(`"BM.GPU.H100.8"`, map[string]knownvalue.Check{
				"gpu_vendor":         knownvalue.StringExact("NVIDIA"),
				"gpus":               knownvalue.Int64Exact(8),
				"gpu_model":          knownvalue.StringExact("NVIDIA H100 80GB HBM3"),
				"gpu_memory_bytes":   knownvalue.Int64Exact(80 << 30),
				"memory_gb":          knownvalue.Int64Exact(2048),
				"nvme_devices":       knownvalue.Int64Exact(16),
				"is_rdma":            knownvalue.Bool(true),
				"rdma_ports":         knownvalue.Int64Exact(16),
				"rdma_gbps_per_port": knownvalue.Int64Exact(200),
				"hcas":               knownvalue.ListPartial(map[int]knownvalue.Check{0: knownvalue.StringExact("mlx5_0"), 15: knownvalue.StringExact("mlx5_17")}),
				"nccl_environment": knownvalue.MapPartial(map[string]knownvalue.Check{
					"NCCL_IB_GID_INDEX": knownvalue.StringExact("3"),
					"NCCL_IB_HCA":       knownvalue.StringRegexp(regexp.MustCompile(`^=mlx5_0,`)),
				}),
				"mpi_environment": knownvalue.MapPartial(map[string]knownvalue.Check{"UCX_TLS": knownvalue.StringExact("tcp")}),
				"min_busbw":       knownvalue.MapPartial(map[string]knownvalue.Check{"2": limit(knownvalue.Float64Exact(440), "medium")}),
				"facts":           knownvalue.MapSizeExact(values),
			}),
			// What is only inferred is shown with that, and is not recommended.
			shapeStep(`"BM.GPU.H100T.8"`, map[string]knownvalue.Check{
				"ocpus":            knownvalue.Null(),
				"platform":         knownvalue.Null(),
				"gpu_model":        knownvalue.StringExact("NVIDIA H100 80GB HBM3"),
				"nccl_environment": knownvalue.MapSizeExact(1), // NCCL_IB_HCA
				"mpi_environment":  knownvalue.Null(),
				"min_busbw":        knownvalue.MapPartial(map[string]knownvalue.Check{"2": limit(knownvalue.Float64Exact(440), "low")}),
				"facts": knownvalue.MapPartial(map[string]knownvalue.Check{
					"ocpus":     origin("unknown", "no public source found"),
					"gpu_model": origin("low", "inferred from BM.GPU.H100.8"),
				}),
			}),
			shapeStep("null", map[string]knownvalue.Check{
				"names": knownvalue.ListSizeExact(len(shape.Names())),
				"gpus":  knownvalue.Null(),
				"facts": knownvalue.Null(),
			}),
			{
				Config:      `data "ocihpc_shape" "this" { name = "BM.GPU4-8" }`,
				ExpectError: regexp.MustCompile(`(?s)Is\s+BM\.GPU4\.8\s+meant\?\s+It\s+has:.*BM\.GPU\.H100\.8`),
			},
		},
	})
}
