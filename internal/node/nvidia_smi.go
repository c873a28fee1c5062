// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// gpuFindings is what nvidia-smi told.
type gpuFindings struct {
	list   []job.GPU // never nil
	driver string
	err    error // why there is no list
	// details are in the order of list. detailsErr says why there are none, where there is a list.
	details    []smiGPU
	detailsErr error
}

// askGPUs asks nvidia-smi for everything in one call. What stands in for nvidia-smi may know only its table.
func askGPUs(ctx context.Context) gpuFindings {
	text, err := answer(ctx, "nvidia-smi", "-q", "-x")
	var log smiLog
	if err == nil {
		log, err = parseSMI(text)
	}
	if err == nil {
		return gpuFindings{list: log.list(), driver: log.Driver, details: log.GPUs}
	}
	f := gpuFindings{list: []job.GPU{}, err: err, detailsErr: err}
	if missing(err) || errors.Is(err, context.DeadlineExceeded) {
		return f
	}
	f.list, f.driver, f.err = gpus(ctx)
	return f
}

// smiLog is what is read of `nvidia-smi -q -x`. Which elements there are depends on driver and GPU.
//
// Source: nvidia-smi of driver 580 on a H200, and nvsmi_device_v10.dtd to v13.dtd.
type smiLog struct {
	XMLName xml.Name `xml:"nvidia_smi_log"`
	Driver  string   `xml:"driver_version"`
	GPUs    []smiGPU `xml:"gpu"`
}

type smiGPU struct {
	Bus         string `xml:"id,attr"`
	Name        string `xml:"product_name"`
	UUID        string `xml:"uuid"`
	VBIOS       string `xml:"vbios_version"`
	Memory      string `xml:"fb_memory_usage>total"`
	Persistence string `xml:"persistence_mode"`
	// Recovery is in drivers from 570 on.
	Recovery string `xml:"gpu_recovery_action"`

	PowerState string `xml:"performance_state"`
	LinkGen    string `xml:"pci>pci_gpu_link_info>pcie_gen>current_link_gen"`
	MaxLinkGen string `xml:"pci>pci_gpu_link_info>pcie_gen>max_link_gen"`
	LinkWidth  string `xml:"pci>pci_gpu_link_info>link_widths>current_link_width"`
	MaxWidth   string `xml:"pci>pci_gpu_link_info>link_widths>max_link_width"`

	// Throttling was renamed in driver 535.
	EventReasons    smiValues `xml:"clocks_event_reasons"`
	ThrottleReasons smiValues `xml:"clocks_throttle_reasons"`
	Clock           string    `xml:"applications_clocks>graphics_clock"`
	DefaultClock    string    `xml:"default_applications_clocks>graphics_clock"`

	ECCMode   string    `xml:"ecc_mode>current_ecc"`
	Volatile  smiErrors `xml:"ecc_errors>volatile"`  // since the last reset
	Aggregate smiErrors `xml:"ecc_errors>aggregate"` // since it was made

	RowsPending       string `xml:"remapped_rows>remapped_row_pending"`
	RowsFailed        string `xml:"remapped_rows>remapped_row_failure"`
	RowsUncorrectable string `xml:"remapped_rows>remapped_row_unc"`
	BanksWithout      string `xml:"remapped_rows>row_remapper_histogram>row_remapper_histogram_none"`
	PagesPending      string `xml:"retired_pages>pending_retirement"` // before Ampere

	FabricState  string    `xml:"fabric>state"`
	FabricStatus string    `xml:"fabric>status"`
	FabricHealth smiValues `xml:"fabric>health"`
}

// smiValues is an element with whatever elements of text are in it.
type smiValues struct {
	Values []smiValue `xml:",any"`
}

type smiValue struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
}

// smiErrors counts memory errors; before Ampere by bits.
type smiErrors struct {
	smiValues
	DoubleBit string `xml:"double_bit>total"`
}

// uncorrectable adds up what could not be corrected.
func (e smiErrors) uncorrectable() int64 {
	sum, _ := leadingNumber(e.DoubleBit)
	for _, v := range e.Values {
		if strings.Contains(v.XMLName.Local, "uncorrectable") {
			n, _ := leadingNumber(v.Text)
			sum += n
		}
	}
	return sum
}

// text gives the value of an element, or nothing.
func (v smiValues) text(name string) string {
	for _, value := range v.Values {
		if value.XMLName.Local == name {
			return strings.TrimSpace(value.Text)
		}
	}
	return ""
}

func parseSMI(text string) (smiLog, error) {
	var log smiLog
	if err := xml.Unmarshal([]byte(text), &log); err != nil {
		return smiLog{}, fmt.Errorf("read the answer of nvidia-smi -q -x: %w", err)
	}
	return log, nil
}

func (l smiLog) list() []job.GPU {
	list := []job.GPU{}
	for i, g := range l.GPUs {
		mebibytes, _ := leadingNumber(g.Memory)
		list = append(list, job.GPU{Index: i, Name: g.Name, UUID: g.UUID, MemoryBytes: mebibytes << 20, VBIOS: g.VBIOS})
	}
	return list
}

// leadingNumber reads values such as "16x", "1980 MHz" and "0 bank(s)"; ok is false for "N/A".
func leadingNumber(text string) (n int64, ok bool) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 43)
	if err != nil {
		return 0, false
	}
	return n, true
}
