// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaiterSlowsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var pauses []time.Duration
		last := begun
		err := DefaultWaiter.Until(t.Context(), func(context.Context) (bool, error) {
			pauses = append(pauses, time.Since(last))
			last = time.Now()
			return time.Since(begun) > 10*time.Minute, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, pause := range pauses[1:] {
			limit := time.Duration(min(float64(DefaultWaiter.Max), float64(DefaultWaiter.First)*math.Pow(1.5, float64(i))))
			if pause > limit || pause < limit/2-time.Millisecond {
				t.Errorf("pause %d is %v, want between half of %v and all of it", i, pause, limit)
			}
		}
		if len(pauses) > 60 {
			t.Errorf("%d looks in ten minutes", len(pauses))
		}
	})
}

func TestWaiterToleratesAFewFaults(t *testing.T) {
	t.Parallel()
	fault := refused(503, "ServiceUnavailable")
	for name, test := range map[string]struct {
		faults int
		err    error
		fails  bool
	}{
		"as many as tolerated": {DefaultWaiter.Faults, fault, false},
		"one too many":         {DefaultWaiter.Faults + 1, fault, true},
		"not passing":          {1, refused(401, "NotAuthenticated"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				err := DefaultWaiter.Until(t.Context(), func(context.Context) (bool, error) {
					looks++
					if looks <= test.faults {
						return false, test.err
					}
					return true, nil
				})
				if fails := err != nil; fails != test.fails {
					t.Errorf("error after %d looks: %v", looks, err)
				}
			})
		})
	}
}

func TestWaiterEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		begun := time.Now()
		err := Waiter{First: time.Second, Max: 30 * time.Second, Faults: 1000}.Until(ctx, func(context.Context) (bool, error) {
			return false, refused(429, "TooManyRequests")
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		if service, ok := serviceError(err); !ok || service.GetHTTPStatusCode() != 429 {
			t.Errorf("the last answer is lost in: %v", err)
		}
		if took := time.Since(begun); took != 5*time.Minute {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	busy, capacity := refused(429, "TooManyRequests"), answer{status: 500, code: "InternalError", text: "Out of host capacity."}
	for name, test := range map[string]struct {
		answers []error // then success
		calls   int
		fails   bool
	}{
		"at once":              {nil, 1, false},
		"busy for a while":     {[]error{busy, busy, refused(500, "InternalError"), busy}, 5, false},
		"busy for too long":    {[]error{busy, busy, busy, busy, busy, busy, busy, busy, busy}, DefaultRetry.Attempts, true},
		"no capacity":          {[]error{capacity}, 1, true},
		"wrong":                {[]error{refused(400, "InvalidParameter")}, 1, true},
		"busy, then no longer": {[]error{refused(409, "IncorrectState"), refused(409, "Conflict")}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				_, err := repeat(t.Context(), DefaultRetry, func(context.Context, int) (int, error) {
					calls++
					if calls <= len(test.answers) {
						return 0, test.answers[calls-1]
					}
					return 1, nil
				}, 0)
				if calls != test.calls || (err != nil) != test.fails {
					t.Errorf("%d calls, error %v; want %d, %v", calls, err, test.calls, test.fails)
				}
			})
		})
	}
}

func TestRetryKeepsTheLastAnswerWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Millisecond)
			cancel()
		}()
		_, err := repeat(ctx, Retry{Attempts: 100, First: time.Hour, Max: time.Hour}, func(context.Context, int) (int, error) {
			return 0, refused(503, "ServiceUnavailable")
		}, 0)
		if service, ok := serviceError(err); !ok || service.GetHTTPStatusCode() != 503 || KindOf(err) != Interrupted {
			t.Errorf("error is %v", err)
		}
	})
}

// A request that changes something is not torn off by an interrupt: its outcome would be unknown.
func TestChangeIsNotInterruptedHalfWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	done, err := change(ctx, &Clients{Retry: DefaultRetry}, func(ctx context.Context, _ int) (bool, error) {
		cancel()
		return true, ctx.Err()
	}, 0)
	if err != nil || !done {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := change(ctx, &Clients{Retry: DefaultRetry}, func(context.Context, int) (bool, error) {
		t.Error("a change was sent after the interrupt")
		return true, nil
	}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
