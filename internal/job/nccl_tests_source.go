// SPDX-License-Identifier: MPL-2.0

package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NCCLTestsSource is where nccl-tests come from when the nodes, or the image, have none. They are built once, on one node, for
// each source, architecture, image and version of Open MPI, and handed to the others.
type NCCLTestsSource struct {
	// ArchiveURL of a tar archive, gzipped or not, and its SHA-256 in lower-case hex.
	ArchiveURL string `json:"archive_url,omitempty"`
	SHA256     string `json:"sha256,omitempty"`
	// GitURL is a repository in place of an archive; GitRef is a tag, a branch or a commit of it.
	GitURL string `json:"git_url,omitempty"`
	GitRef string `json:"git_ref,omitempty"`
	// Make are variables of its Makefile, such as NVCC_GENCODE or CUDA_HOME. MPI=1 is set, and MPI_HOME found, unless they are here.
	Make map[string]string `json:"make,omitempty"`
	// Always builds them where the nodes have some already, too.
	Always bool `json:"always,omitempty"`
}

var (
	gitURLPattern  = form(`^(https?|ssh)://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?/[A-Za-z0-9._~/+-]+$`)
	gitRefPattern  = form(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$`)
	makeName       = form(`^[A-Z][A-Z0-9_]*$`)
	makeForbidden  = "\x00\n\r$`;|&<>"
	makeOfTheBuild = []string{"MAKEFLAGS", "MAKEFILES", "SHELL", "BUILDDIR"}
)

// Validate finds what is wrong with the source.
func (s NCCLTestsSource) Validate() error {
	var v problems
	v.ncclTestsSource("", s)
	return errors.Join(v.list...)
}

func (v *problems) ncclTestsSource(field string, s NCCLTestsSource) {
	switch {
	case (s.ArchiveURL == "") == (s.GitURL == ""):
		v.add("%sarchive_url or git_url is needed, and only one of them", field)
	case s.ArchiveURL != "":
		v.url(field+"archive_url", s.ArchiveURL)
		v.each(field+"sha256", []string{s.SHA256}, digestPattern, "a SHA-256 in lower-case hex, which an archive needs")
	default:
		v.each(field+"git_url", []string{s.GitURL}, gitURLPattern, "an https or ssh address without credentials")
		v.each(field+"git_ref", []string{s.GitRef}, gitRefPattern, "a tag, a branch or a commit, which a repository needs")
	}
	if s.ArchiveURL != "" && s.GitRef != "" {
		v.add("%sgit_ref is for git_url", field)
	}
	if s.GitURL != "" && s.SHA256 != "" {
		v.add("%ssha256 is for archive_url; a commit as git_ref is as good", field)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Make)) {
		switch {
		case !makeName.MatchString(name) || slices.Contains(makeOfTheBuild, name):
			v.add("%smake: %q is no variable of nccl-tests' Makefile", field, name)
		case strings.ContainsAny(s.Make[name], makeForbidden):
			v.add("%smake: the value of %s holds a character that make or its shell would take apart", field, name)
		}
	}
}

// Key names what is built: with what, for which architecture, against which Open MPI, and in which image (empty: on the node).
func (s NCCLTestsSource) Key(arch, openMPI, image string) string {
	s.Always = false
	text, err := json.Marshal([]any{s, arch, openMPI, image})
	if err != nil { // only types that always encode
		panic(fmt.Sprintf("job: encode: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
