// SPDX-License-Identifier: MPL-2.0

// Command stack checks a stack of OCI Resource Manager, and packs it as the zip archive that Resource Manager takes. It is
// `make stack`:
//
//	stack FOLDER ARCHIVE
//
// The same folder always gives the same archive.
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: stack FOLDER ARCHIVE")
		os.Exit(2)
	}
	archive, err := pack(os.DirFS(os.Args[1]))
	if err == nil {
		err = os.WriteFile(os.Args[2], archive, 0o644) // #nosec G306 G703 -- it is there to be given away, where the caller says
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

// content of an archive: no state, no .terraform, no tests.
var content = []string{"*.tf", schemaFile, "modules/*/*.tf"}

// schemaFile must be in the root of the configuration.
const schemaFile = "schema.yaml"

// pack checks a stack and gives its archive.
func pack(stack fs.FS) ([]byte, error) {
	schema, err := fs.ReadFile(stack, schemaFile)
	if err != nil {
		return nil, fmt.Errorf("read the form: %w", err)
	}
	declared, err := readConfiguration(stack)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(schema, declared); err != nil {
		return nil, fmt.Errorf("%s: %w", schemaFile, err)
	}
	var names []string
	for _, pattern := range content {
		found, err := fs.Glob(stack, pattern)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(stack, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		file, err := writer.Create(name)
		if err == nil {
			_, err = file.Write(text)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, writer.Close())...); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return archive.Bytes(), nil
}
