// SPDX-License-Identifier: MPL-2.0

// Command bench measures what a user of the provider waits for, against a simulated region: the API calls
// and seconds of a refresh by number of nodes, the seconds and memory of validate and plan, the seconds
// of rendering cloud-configs, and the set-up of many lab hosts beside Ansible. With the official provider's
// binary, the same work is done by that beside it, in turns, in the same run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if strings.HasPrefix(filepath.Base(os.Args[0]), pluginPrefix) {
		os.Exit(watchPlugin()) // Terraform started this program in a provider's place.
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	ours, official      string // binaries; official may be empty
	nodes, officialMost string
	runs                int
	runner              string // binary
	hosts, ansibleMost  string
	ansibleRuns         int
	only                string
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.ours, "provider", "bin/terraform-provider-ocihpc", "binary of this provider")
	flag.StringVar(&o.official, "official", os.Getenv("OCI_PROVIDER_BINARY"), "binary of the official provider; empty leaves it out")
	flag.StringVar(&o.nodes, "nodes", "10,100,1000,4000", "numbers of nodes to refresh")
	flag.StringVar(&o.officialMost, "official-most", "1000", "largest number of nodes for the official provider, which needs minutes for more")
	flag.IntVar(&o.runs, "runs", 5, "runs of each measurement; medians are shown")
	flag.StringVar(&o.runner, "runner", "bin/ocihpc-runner", "binary of the runner")
	flag.StringVar(&o.hosts, "hosts", "4,16,64,256", "numbers of lab hosts to set up")
	flag.StringVar(&o.ansibleMost, "ansible-most", "64", "largest number of hosts for Ansible, which needs minutes for more")
	flag.IntVar(&o.ansibleRuns, "ansible-runs", 1, "runs of each set-up by Ansible")
	flag.StringVar(&o.only, "only", "", "measure one part alone: rendering, refresh, commands or setup")
	flag.Parse()
	if o.runs < 1 || o.ansibleRuns < 1 {
		return errors.New("-runs and -ansible-runs: at least 1")
	}
	counts, err := counts(o.nodes)
	if err != nil {
		return fmt.Errorf("-nodes: %w", err)
	}
	parts := []struct {
		name    string
		measure func() error
	}{
		{"rendering", o.rendering}, {"refresh", func() error { return o.refreshes(ctx, counts) }},
		{"commands", func() error { return o.commands(ctx) }}, {"setup", func() error { return o.setUps(ctx) }},
	}
	if o.official == "" {
		fmt.Println("The official provider is left out: give its binary as OCI_PROVIDER_BINARY to have it measured beside ours.")
	}
	known := false
	var failed error
	for _, part := range parts {
		if o.only == "" || o.only == part.name {
			known = true
			failed = errors.Join(failed, part.measure())
		}
	}
	if !known {
		return fmt.Errorf("-only: %q is no part", o.only)
	}
	return failed
}

func counts(list string) ([]int, error) {
	var counts []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of nodes", text)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// table prints rows with aligned columns.
type table struct{ *tabwriter.Writer }

func newTable(title string, columns ...string) table {
	fmt.Printf("\n%s\n", title)
	t := table{tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	t.row(columns...)
	return t
}

func (t table) row(cells ...string) {
	fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
}
