// SPDX-License-Identifier: MPL-2.0

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Form is a way to write a result.
type Form struct {
	// Name is what people ask for it by, File its name in a directory of all forms.
	Name, File string
	// Shows says what it is for.
	Shows string
	Write func(io.Writer, job.Result) error
}

// Forms are all that write a result as one file.
var Forms = []Form{
	{"table", "report.txt", "text for a terminal", Table},
	{"html", "report.html", "one page with pictures, for a browser; it needs no network", HTML},
	{"markdown", "summary.md", "a summary for a pull request or a CI job", Markdown},
	{"junit", "junit.xml", "JUnit's XML, for CI", JUnit},
	{"prometheus", "metrics.prom", "metrics in Prometheus' text format", Prometheus},
	{"csv", "results.csv", "every measured size of every run", CSV},
	{"json", "result.json", "everything, for programs", JSON},
}

// JSON writes the result as its own document. The error is the writer's.
func JSON(w io.Writer, r job.Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r) //nolint:wrapcheck // the writer's
}

// Files writes all forms into a directory, which is made where there is none, and every picture as SVG and PNG. It gives
// the names of the files. They are readable by their owner alone.
func Files(dir string, r job.Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the reports' directory: %w", err)
	}
	var names []string
	write := func(name string, form func(io.Writer) error) error {
		names = append(names, name)
		return writeFile(filepath.Join(dir, name), form)
	}
	var problems []error
	for _, form := range Forms {
		problems = append(problems, write(form.File, func(w io.Writer) error { return form.Write(w, r) }))
	}
	for _, p := range pictures(r) {
		problems = append(problems, write(p.ID+".svg", p.wide.SVG), write(p.ID+".png", p.wide.PNG))
	}
	return names, errors.Join(problems...)
}

func writeFile(path string, form func(io.Writer) error) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- the user names it
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return form(file)
}
