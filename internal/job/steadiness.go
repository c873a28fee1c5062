// SPDX-License-Identifier: MPL-2.0

package job

// Steadiness is how the times of single iterations differ, which their mean hides.
type Steadiness struct {
	SizeBytes int64
	// Times of the iterations, each that of its slowest process, in microseconds. P99 is that of nearest rank: with less than
	// 100 iterations the slowest.
	FastestUS, MeanUS, P99US, SlowestUS float64
}

// Lost is how much longer an iteration takes on average than the fastest one, as a part of that.
func (s Steadiness) Lost() float64 { return max(0, s.MeanUS/s.FastestUS-1) }

// Steadiness is that at the largest size, of the placement whose iterations differ less: what befell the other one alone may
// have been chance. It is nil where the report has no single iterations (see [Iterations]).
func (r *Report) Steadiness() *Steadiness {
	if len(r.Rows) == 0 {
		return nil
	}
	last := r.Rows[len(r.Rows)-1]
	var steadiest *Steadiness
	for _, p := range []*Placement{last.OutOfPlace, last.InPlace} {
		if s := p.steadiness(); s != nil && (steadiest == nil || s.Lost() < steadiest.Lost()) {
			s.SizeBytes = last.SizeBytes
			steadiest = s
		}
	}
	return steadiest
}

func (p *Placement) steadiness() *Steadiness {
	if p == nil || p.Iterations == nil {
		return nil
	}
	it := p.Iterations
	if p.TimeUS == nil || it.MinUS == nil || it.MaxUS == nil || it.P99US == nil || *it.MinUS <= 0 {
		return nil
	}
	return &Steadiness{FastestUS: *it.MinUS, MeanUS: *p.TimeUS, P99US: *it.P99US, SlowestUS: *it.MaxUS}
}
