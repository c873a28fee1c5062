// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Retry is how often and how fast a failed call is repeated: exponentially, with full jitter.
type Retry struct {
	Attempts int
	First    time.Duration // upper bound of the first pause; it doubles from there
	Max      time.Duration // upper bound of every pause
	// Total is the time after which no further attempt begins: one to which no answer comes takes the
	// SDK's minute. 0 means no limit.
	Total time.Duration
}

// DefaultRetry repeats for about a minute and a half at most. Oracle asks for exponential back-off up to
// 60 s and sends no Retry-After.
var DefaultRetry = Retry{Attempts: 8, First: time.Second, Max: 60 * time.Second, Total: 3 * time.Minute}

// read sends a request that changes nothing, again where that helps.
func read[Q, R any](ctx context.Context, c *Clients, send func(context.Context, Q) (R, error), request Q) (R, error) {
	return repeat(ctx, c.Retry, func(ctx context.Context, request Q) (R, error) {
		response, err := send(hidden(ctx), request)
		if err != nil && ctx.Err() != nil {
			err = endOf(ctx, err)
		}
		return response, err
	}, request)
}

// change sends a request that changes something, again where that helps. The context stops it between
// attempts only, so that its outcome is known. A request that creates must carry a retry token, or a
// repetition may create twice.
func change[Q, R any](ctx context.Context, c *Clients, send func(context.Context, Q) (R, error), request Q) (R, error) {
	response, err := repeat(ctx, c.Retry, func(ctx context.Context, request Q) (R, error) {
		return send(context.WithoutCancel(ctx), request)
	}, request)
	if err == nil {
		accepted(ctx, response)
	}
	return response, err
}

func repeat[Q, R any](ctx context.Context, policy Retry, send func(context.Context, Q) (R, error), request Q) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		response, err := send(ctx, request)
		last := attempt == policy.Attempts || policy.Total > 0 && time.Since(begun) > policy.Total
		if err == nil || last || !retryable(err) {
			return response, err
		}
		if sleep(ctx, policy.pause(attempt)) != nil {
			return none, endOf(ctx, err)
		}
	}
}

func (p Retry) pause(attempt int) time.Duration {
	limit := min(p.First<<(attempt-1), p.Max)
	return rand.N(limit + 1) //nolint:gosec // Jitter needs no secrecy.
}

// sleep waits or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retryable says whether the same request may well succeed a little later.
func retryable(err error) bool {
	if service, ok := serviceError(err); ok {
		status, code := service.GetHTTPStatusCode(), service.GetCode()
		switch {
		case KindOf(err) == Capacity:
			return false // No host becomes free within seconds, and asking again ends in 429.
		case status == http.StatusConflict:
			return code == "IncorrectState" || code == "LockConflict"
		}
		return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
	}
	return isTransport(err)
}

// isTransport says that a request got no answer, for a reason that may pass.
func isTransport(err error) bool {
	var badCertificate *tls.CertificateVerificationError
	var dns *net.DNSError
	var file *fs.PathError // It wraps a system error number, which is a net.Error too.
	if errors.As(err, &badCertificate) || errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &file) {
		return false
	}
	var request *url.Error
	var network net.Error
	return errors.As(err, &request) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
