// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// unableTo is the summary of every diagnostic about an operation that failed.
func unableTo(verb, thing, name string) string {
	return fmt.Sprintf("Unable to %s %s %q", verb, thing, name)
}

// addClusterError reports a failure of OCI about a GPU cluster.
func addClusterError(diags *diag.Diagnostics, verb, name string, err error) {
	diags.AddError(unableTo(verb, gpuCluster, name), explain(err))
}

// explain says what happened, OCI's own words and request id, and what to do next.
func explain(err error) string {
	problem := oci.Explain(err)
	problem.What = sentence(endings.Replace(problem.What))
	return problem.String()
}

// endings says in plain words how a context ended.
var endings = strings.NewReplacer("context deadline exceeded", "the time for it is over", "context canceled", "it was interrupted")

// account is [explain] without the advice.
func account(err error) string {
	problem := oci.Explain(err)
	problem.What, problem.Advice = sentence(problem.What), ""
	return problem.String()
}

// sentence makes a message that starts small, as Go's errors and the runner's messages do, one for people.
// Names such as all_reduce stay as they are, and so does the end of a longer account.
func sentence(message string) string {
	word, _, _ := strings.Cut(message, " ")
	if !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		first, size := utf8.DecodeRuneInString(message)
		message = string(unicode.ToUpper(first)) + message[size:]
	}
	if strings.HasSuffix(message, ".") || strings.Contains(message, "\n") {
		return message
	}
	return message + "."
}
