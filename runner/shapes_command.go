// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

func newShapesCommand() *cobra.Command {
	out := &output{form: "table"}
	cmd := &cobra.Command{
		Use:   "shapes [NAME]",
		Short: "Show the shape catalog",
		Long: `Show the OCI shapes that are known, or all that is known of one: every value with its confidence and source.
A value of low confidence is for people; it never decides whether a check or a measurement passes.

Exit status:
  0   shown
  64  wrong usage, or no such shape`,
		Example: `  ocihpc-runner shapes
  ocihpc-runner shapes BM.GPU.H100.8
  ocihpc-runner shapes BM.GPU.H100.8 --output json`,
		Args:              arguments(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions(shape.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return out.print(cmd.OutOrStdout(), shape.All(), printShapes)
			}
			s, ok := shape.Lookup(args[0])
			if !ok {
				return unknownShape(args[0])
			}
			return out.print(cmd.OutOrStdout(), s, func(w io.Writer) error { return printShape(w, s) })
		},
	}
	out.flag(cmd)
	return cmd
}

func unknownShape(name string) error {
	meant := ""
	if nearest, ok := shape.Suggest(name); ok {
		meant = fmt.Sprintf("; did you mean %s?", nearest)
	}
	return usageError{fmt.Errorf("the shape %s is not in the catalog%s", name, meant)}
}

// printShapes gives a line a shape; what is not certain has a question mark.
func printShapes(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SHAPE\tGPUS\tMODEL\tNVME\tRDMA\tLIMIT, 1 NODE\tLIMIT, 2 NODES") // Flush tells
	for _, s := range shape.All() {
		_, _ = fmt.Fprintln(table, strings.Join([]string{s.Name, brief(s.GPUs), brief(s.GPUModel),
			product(s.NVMeDevices, terabytes(s.NVMeDeviceBytes)), product(s.RDMAPorts, suffixed(s.RDMAGbpsPort, " Gb/s")),
			suffixed(s.MinBusbw(1), " GB/s"), suffixed(s.MinBusbw(2), " GB/s")}, "\t"))
	}
	return table.Flush()
}

// brief is a value for a table: a dash where there is none, a question mark where it is not certain.
func brief[T any](v shape.Value[T]) string {
	switch {
	case !v.Known():
		return "-"
	case !v.Usable():
		return fmt.Sprint(v.V, "?")
	}
	return fmt.Sprint(v.V)
}

func suffixed[T any](v shape.Value[T], unit string) string {
	if !v.Known() {
		return "-"
	}
	return brief(shape.Value[string]{V: fmt.Sprint(v.V, unit), Confidence: v.Confidence})
}

func terabytes(v shape.Value[int64]) string {
	return suffixed(shape.Value[float64]{V: float64(v.V) / 1e12, Confidence: v.Confidence}, " TB")
}

func product(count shape.Value[int], each string) string {
	if count.V == 0 || each == "-" {
		return brief(count)
	}
	return brief(count) + " × " + each
}

// printShape gives a line a value.
func printShape(w io.Writer, s shape.Shape) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "%s\tVALUE\tCONFIDENCE\tSOURCE\n", s.Name) // Flush tells
	line(table, "GPUs", s.GPUs)
	line(table, "GPU model", s.GPUModel)
	line(table, "GPU memory, bytes", s.GPUMemoryBytes)
	line(table, "OCPUs", s.OCPUs)
	line(table, "Memory, GB", s.MemoryGB)
	line(table, "NVMe devices", s.NVMeDevices)
	line(table, "NVMe device, bytes", s.NVMeDeviceBytes)
	line(table, "VCN ports", s.VCNPorts)
	line(table, "VCN port, Gb/s", s.VCNGbpsPort)
	line(table, "NIC family", s.NICFamily)
	line(table, "RDMA ports", s.RDMAPorts)
	line(table, "RDMA port, Gb/s", s.RDMAGbpsPort)
	line(table, "HCAs a port", s.HCAsPerPort)
	line(table, "HCAs", joined(s.HCAs))
	line(table, "HCAs of each GPU", joined(s.Topology.GPUHCAs))
	line(table, "PCI buses of RDMA", joined(s.Topology.PCIBuses))
	line(table, "RDMA interfaces", joined(s.Topology.Interfaces))
	line(table, "RDMA interfaces, renamed", joined(s.Topology.RenamedInterfaces))
	line(table, "VCN interfaces", joined(s.Topology.VCNInterfaces))
	line(table, "Platform type", s.Platform)
	line(table, "Sockets", s.Topology.Sockets)
	line(table, "NUMA nodes", s.Topology.NUMANodes)
	line(table, "ib_write_bw at least, Gb/s", s.LinkWriteGbps)
	line(table, "ib_write_lat at most, µs", s.LinkLatencyMicros)
	for _, b := range s.AllReduce {
		what := fmt.Sprintf("all_reduce, %d node(s), from %d GiB", b.Nodes, b.FromBytes>>30)
		line(table, what+", limit, GB/s", b.Min)
		line(table, what+", measured, GB/s", b.Expected)
	}
	line(table, "NCCL variables", variables(s.NCCLEnv))
	line(table, "MPI and UCX variables", variables(s.MPIEnv))
	return table.Flush()
}

// valueWidth is where a long value goes on in the next line.
const valueWidth = 60

func line[T any](w io.Writer, label string, v shape.Value[T]) {
	if !v.Known() {
		_, _ = fmt.Fprintf(w, "%s\t-\tunknown\t%s\n", label, v.Source)
		return
	}
	lines := wrap(fmt.Sprint(v.V), valueWidth)
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", label, lines[0], v.Confidence, v.Source)
	for _, more := range lines[1:] {
		_, _ = fmt.Fprintf(w, "\t%s\t\t\n", more)
	}
}

// wrap breaks a text at blanks.
func wrap(text string, width int) []string {
	var lines []string
	for len(text) > width {
		end := strings.LastIndex(text[:width+1], " ")
		if end < 0 {
			break
		}
		lines = append(lines, text[:end])
		text = text[end+1:]
	}
	return append(lines, text)
}

func joined(v shape.Value[[]string]) shape.Value[string] {
	return shape.Value[string]{V: strings.Join(v.V, " "), Confidence: v.Confidence, Source: v.Source}
}

func variables(v shape.Value[map[string]string]) shape.Value[string] {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(v.V)) {
		all = append(all, name+"="+v.V[name])
	}
	if v.Known() && len(all) == 0 {
		all = []string{"none"}
	}
	return shape.Value[string]{V: strings.Join(all, " "), Confidence: v.Confidence, Source: v.Source}
}
