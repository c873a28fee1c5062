// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"fmt"
	"net/http"
)

// apiError is an error as OCI puts it on the wire.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// OCI says the same for a missing resource and a missing permission.
func notFound() error {
	return &apiError{http.StatusNotFound, "NotAuthorizedOrNotFound", "Authorization failed or requested resource not found."}
}

func notAuthenticated() error {
	return &apiError{http.StatusUnauthorized, "NotAuthenticated",
		"The required information to complete authentication was not provided or was incorrect."}
}

func missing(field string) error {
	return &apiError{http.StatusBadRequest, "MissingParameter", "Missing required parameter: " + field}
}

func invalid(field, format string, args ...any) error {
	return &apiError{http.StatusBadRequest, "InvalidParameter", "Invalid " + field + ": " + fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &apiError{http.StatusConflict, "Conflict", fmt.Sprintf(format, args...)}
}

func overLimit(format string, args ...any) error {
	return &apiError{http.StatusBadRequest, "LimitExceeded", fmt.Sprintf(format, args...)}
}

func incorrectState(id, state string) error {
	return &apiError{http.StatusConflict, "IncorrectState",
		fmt.Sprintf("The resource %s is in state %s, in which the operation is not allowed.", id, state)}
}

func outOfHostCapacity() error {
	return &apiError{http.StatusInternalServerError, "InternalError", "Out of host capacity."}
}

func limitExceeded(shape string, most int) error {
	return &apiError{http.StatusBadRequest, "LimitExceeded", fmt.Sprintf(
		"The following service limits were exceeded: %s (%d instances). Request a service limit increase from the service limits page in the console.", shape, most)}
}

func quotaExceeded(shape string, most int) error {
	return &apiError{http.StatusBadRequest, "QuotaExceeded", fmt.Sprintf(
		"The following compartment quotas were exceeded: %s (%d instances).", shape, most)}
}

// notSimulated is the answer to whatever OCI has and this package has not.
func notSimulated(what string) error {
	return &apiError{http.StatusNotImplemented, "MethodNotImplemented", what + " is not simulated."}
}
