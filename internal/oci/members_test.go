// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

// early edits the first answers that have a text, as a region gives them whose records do not agree yet.
type early struct {
	next    common.HTTPRequestDispatcher
	path    string // how the path of the request ends
	text    *regexp.Regexp
	instead string
	left    int
}

func (e *early) Do(r *http.Request) (*http.Response, error) {
	response, err := e.next.Do(r)
	if err != nil || e.left == 0 || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, e.path) {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if e.text.Match(body) {
		e.left--
		body = e.text.ReplaceAll(body, []byte(e.instead))
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

// A cluster is complete when its record, its current size and each of its nodes are so.
func TestAllRecordsMustAgree(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]early{
		"state":        {text: regexp.MustCompile(`"lifecycleState":"RUNNING"(.*"currentSize":2)`), instead: `"lifecycleState":"SCALING"$1`},
		"current size": {text: regexp.MustCompile(`("lifecycleState":"RUNNING".*"currentSize"):2`), instead: `$1:1`},
		"node's state": {path: "/instances", text: regexp.MustCompile(`"state":"Running"(.*"state":"Running")`), instead: `"state":"Provisioning"$1`},
		"former node":  {path: "/instances", text: regexp.MustCompile(`^\[(\{.*\},\{.*\})\]$`), instead: `[$1,{"id":"ocid1.instance.oc1..former","state":"Stopping"}]`},
		"node's place": {path: "/instances", text: regexp.MustCompile(`^\[(\{.*\}),\{.*\}\]$`), instead: `[$1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			s.Grace = time.Minute // The answers are wrong by count, not by time.
			operation, c, err := s.Create(t.Context(), spec(2))
			if err != nil {
				t.Fatal(err)
			}
			edit.next, edit.left = s.ComputeManagement.HTTPClient, 3
			if edit.path == "" {
				edit.path = "/" + c.ID
			}
			s.ComputeManagement.HTTPClient = &edit
			wait(t, operation)
			if edit.left != 0 {
				t.Errorf("the wait has ended although %d more answers would have said otherwise", edit.left)
			}
		})
	}
}
