// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/common"
)

// Kind of a failure: what a program or a person would do about it.
type Kind int

// Kinds.
const (
	Other           Kind = iota
	NotFound             // gone, or not to be seen by this user: OCI does not tell which
	Capacity             // no free hosts of the shape
	Limit                // a service limit or compartment quota
	Conflict             // the resource is in use or busy
	Throttled            // too many requests
	Unauthenticated      // the credentials are not accepted
	Forbidden            // authenticated, but not allowed
	Invalid              // the request itself is wrong
	Unavailable          // the service failed
	Unreachable          // no answer at all
	Interrupted          // the user stopped it
	TimedOut             // the operation's own time limit passed
)

func serviceError(err error) (common.ServiceError, bool) {
	var service common.ServiceError
	ok := errors.As(err, &service)
	return service, ok
}

// KindOf classifies an error of this package or of the SDK.
func KindOf(err error) Kind {
	var failure *FailureError
	if errors.As(err, &failure) {
		return failure.kind()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, ErrGone):
		return NotFound
	case errors.Is(err, errNotEmpty):
		return Conflict
	}
	if service, ok := serviceError(err); ok {
		if isPage(service) && service.GetHTTPStatusCode() < http.StatusInternalServerError {
			return Unreachable // It says nothing about what was asked for, not even with a 404.
		}
		return kindOfAnswer(service.GetHTTPStatusCode(), service.GetCode(), service.GetMessage())
	}
	var request *url.Error // One that ran out of time got no answer; the operation as a whole may go on.
	switch {
	case errors.As(err, &request):
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case isTransport(err):
		return Unreachable
	}
	return Other
}

func kindOfAnswer(status int, code, message string) Kind {
	if kind := kindOfText(code, message); kind != Other {
		return kind
	}
	switch {
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return Conflict
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == http.StatusUnauthorized:
		return Unauthenticated
	case status == http.StatusForbidden || status == http.StatusPaymentRequired:
		return Forbidden
	case status >= 500:
		return Unavailable
	case status >= 400:
		return Invalid
	}
	return Other
}

// kindOfText recognises lack of hosts and limits, which OCI reports as a 500, as a 400, in the errors of
// a work request, and in its log: the text is all that these have in common.
func kindOfText(code, message string) Kind {
	text := strings.ToLower(code + " " + message)
	for _, mark := range []string{"out of host capacity", "insufficient capacity", "outofcapacity", "out_of_host_capacity"} {
		if strings.Contains(text, mark) {
			return Capacity
		}
	}
	for _, mark := range []string{"limitexceeded", "quotaexceeded"} {
		if strings.Contains(text, mark) {
			return Limit
		}
	}
	return Other
}

// isPage says that an answer is not OCI's JSON, but most likely the page of a proxy or gateway before it.
func isPage(service common.ServiceError) bool { return service.GetCode() == "BadErrorResponse" }

// pageText makes one short line of the SDK's message about such an answer, which holds the whole page.
func pageText(message string) string {
	_, body, found := strings.Cut(message, "With response body ")
	if !found {
		return message
	}
	const most = 200 // characters
	words := strings.Fields(markup.ReplaceAllString(strings.TrimSuffix(body, "."), " "))
	text := []rune(strings.Join(words, " "))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return fmt.Sprintf("not OCI's JSON, but most likely the page of a proxy or gateway on the way there: %q", string(text))
}

var markup = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<[^>]*>`)

// Problem is an error made ready for a person. Empty fields are unknown.
type Problem struct {
	Kind Kind
	// What happened, in words.
	What string
	// Operation, Status, Code, Message and RequestID are what OCI answered.
	Operation string
	Status    int
	Code      string
	Message   string
	RequestID string
	// Advice is what to do next.
	Advice string
}

// Explain translates any error of this package or of the SDK.
func Explain(err error) Problem {
	p := Problem{Kind: KindOf(err), What: err.Error()}
	p.Advice = advice[p.Kind]
	var failure *FailureError
	if errors.As(err, &failure) {
		p.What = failure.Error() // It says where it happened itself.
	}
	service, ok := serviceError(err)
	if !ok {
		return p
	}
	p.Status, p.Code = service.GetHTTPStatusCode(), service.GetCode()
	p.Message, p.RequestID = service.GetMessage(), service.GetOpcRequestID()
	if isPage(service) {
		p.Message = pageText(p.Message)
	}
	var rich common.ServiceErrorRichInfo
	if errors.As(err, &rich) {
		p.Operation = rich.GetOperationName()
	}
	// The SDK's own texts are ten lines long each. The first says again what is above.
	for n, one := range serviceErrors(err) {
		brief := "OCI refused the request"
		if n > 0 {
			brief = fmt.Sprintf("OCI answered %d %s: %s (request ID %s)", one.GetHTTPStatusCode(), one.GetCode(), one.GetMessage(), one.GetOpcRequestID())
		}
		p.What = strings.Replace(p.What, one.(error).Error(), brief, 1)
	}
	return p
}

// serviceErrors gives all of OCI's answers that an error is made of, in the order of [errors.As].
func serviceErrors(err error) []common.ServiceError {
	var all []common.ServiceError
	switch e := err.(type) { //nolint:errorlint // It is unwrapped here.
	case common.ServiceError:
		return []common.ServiceError{e}
	case interface{ Unwrap() error }:
		return serviceErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			all = append(all, serviceErrors(part)...)
		}
	}
	return all
}

// String gives the whole problem in a few lines.
func (p Problem) String() string {
	var text strings.Builder
	text.WriteString(p.What)
	if p.Status != 0 {
		fmt.Fprintf(&text, "\n\nOCI answered %d %s: %s", p.Status, p.Code, p.Message)
		if p.Operation != "" {
			fmt.Fprintf(&text, "\nOperation: %s", p.Operation)
		}
		if p.RequestID != "" {
			fmt.Fprintf(&text, "\nRequest ID: %s", p.RequestID)
		}
	}
	if p.Advice != "" {
		text.WriteString("\n\n" + p.Advice)
	}
	return text.String()
}

var advice = map[Kind]string{
	NotFound: "What the request names does not exist, or this user may not see or use it: OCI does not tell which. " +
		"Check every OCID (compartment, subnet, image), that all are of this region, and that a policy allows the operation.",
	Capacity: "There are not enough free hosts of this shape here at the moment. Try a smaller size, another availability domain or region, " +
		"or later; a capacity reservation or Oracle's support can hold hosts for you. Repeating at once does not help.",
	Limit: "A service limit or a compartment quota is reached. Compare Governance > Limits, Quotas and Usage in the console with what the cluster needs, " +
		"and ask for an increase or free what is no longer used.",
	Conflict:        "Something else uses or changes the resource. Wait until it is done, then try again.",
	Throttled:       "OCI is receiving too many requests from this user. Wait a minute, or lower the parallelism, then try again.",
	Unauthenticated: "OCI does not accept the credentials. Check tenancy_ocid, user_ocid, fingerprint, the private key and region, that a session has not expired, and that this machine's clock is right.",
	Forbidden:       "The credentials are right, but the operation is not allowed to them. Ask the tenancy's administrator.",
	Invalid:         "Correct the named value, then apply again.",
	Unavailable:     "The service itself failed, several times. Try again later, and give Oracle's support the request ID if it persists.",
	Unreachable:     "OCI could not be reached. Check the region, this machine's network and its proxy settings, then try again.",
	Interrupted:     "Run the same command again to continue.",
	TimedOut:        "Run the same command again to continue, with a longer time in the timeouts attribute if this was simply slow.",
}
