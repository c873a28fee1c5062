// SPDX-License-Identifier: MPL-2.0

package job

import _ "embed"

// JSON Schemas (draft 2020-12) of the contract, for whoever writes jobs or reads results in another language.
var (
	//go:embed job.schema.json
	JobSchema []byte
	//go:embed result.schema.json
	ResultSchema []byte
	// EventSchema refers to ResultSchema by its $id.
	//go:embed event.schema.json
	EventSchema []byte
)
