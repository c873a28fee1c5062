// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// gpus asks nvidia-smi. The list is never nil.
func gpus(ctx context.Context) ([]job.GPU, string, error) {
	text, err := answer(ctx, "nvidia-smi", "--query-gpu=index,name,uuid,memory.total,driver_version", "--format=csv,noheader,nounits")
	if err != nil {
		return []job.GPU{}, "", err
	}
	return parseGPUs(text)
}

// parseGPUs reads lines of index, name, uuid, memory in MiB, driver version.
func parseGPUs(text string) ([]job.GPU, string, error) {
	found, driver := []job.GPU{}, ""
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = 5
	reader.TrimLeadingSpace = true
	reader.LazyQuotes = true
	records, err := reader.ReadAll()
	if err != nil {
		return []job.GPU{}, "", fmt.Errorf("read the answer of nvidia-smi: %w", err)
	}
	for _, record := range records {
		index, err := strconv.Atoi(record[0])
		if err != nil || index < 0 {
			return []job.GPU{}, "", fmt.Errorf("read the answer of nvidia-smi: %q is no GPU index", record[0])
		}
		// Machines whose GPUs share the host's memory show [N/A].
		mebibytes, err := strconv.ParseInt(record[3], 10, 43)
		if err != nil || mebibytes < 0 {
			mebibytes = 0
		}
		found = append(found, job.GPU{Index: index, Name: record[1], UUID: record[2], MemoryBytes: mebibytes << 20})
		driver = record[4]
	}
	return found, driver, nil
}
