// SPDX-License-Identifier: MPL-2.0

package job

import (
	"regexp"
	"sync"
)

// pattern is a form of text. It is compiled when it is first asked for: the runner starts several times on every node,
// and asks for few.
type pattern func() *regexp.Regexp

func form(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// MatchString says whether the text has the form.
func (p pattern) MatchString(text string) bool { return p().MatchString(text) }
