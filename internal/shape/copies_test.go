// SPDX-License-Identifier: MPL-2.0

package shape_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shapeData are the strings that only the catalog may hold: a shape's name by itself, HCA and interface names,
// tuned variables of NCCL. Prose that mentions a shape is no data.
var shapeData = regexp.MustCompile(`^(BM|VM)\.(GPU|HPC|Optimized)[\w.-]*$|mlx5_\d|ionic_\d|\benp\d+s\d|\bens\d{3,}|NCCL_IB_(TC|SL|GID_INDEX|QPS_PER_CONNECTION|TIMEOUT)`)

// example is what prose names in backticks.
var example = regexp.MustCompile("`[^`]*`")

// mayName are the files outside of the catalog that may hold such strings, with the reason.
var mayName = map[string]string{
	"internal/node/rdma_check.go":    "asks the catalog for the GID index, and names its variable in advice",
	"internal/acctest/region.go":     "the shape that tests use",
	"internal/containertest/node.go": "the shape that tests use",
	"internal/nccl/causes.go":        "names variables whose lack it finds",
	"internal/nccl/transport.go":     "names variables in advice",
	"internal/nccl/tuning.go":        "tries values that no shape has",
}

// TestNoCopies holds every other package to asking the catalog.
func TestNoCopies(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if name == filepath.Join("internal", "shape") || name == "test" || strings.HasPrefix(entry.Name(), ".") && name != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || mayName[filepath.ToSlash(name)] != "" {
			return nil
		}
		files++
		for _, copied := range copies(t, path) {
			t.Errorf("%s holds %q: that belongs into the shape catalog", name, copied)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func TestCopiesAreFound(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.go")
	text := "package x\n// BM.GPU4.8 in a comment\nvar a = []string{\"BM.GPU4.8\", `=mlx5_0,mlx5_1`, \"such as `BM.GPU4.8`\", \"enp12s0f0\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := copies(t, file); !slices.Equal(got, []string{"BM.GPU4.8", "=mlx5_0,mlx5_1", "enp12s0f0"}) {
		t.Errorf("found %q", got)
	}
}

// copies finds the shape data among a file's strings.
func copies(t *testing.T, path string) []string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(path, -1, len(source)), source, nil, 0)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return found
		}
		text, err := strconv.Unquote(literal)
		if kind == token.STRING && err == nil && shapeData.MatchString(example.ReplaceAllString(text, "")) {
			found = append(found, text)
		}
	}
}
