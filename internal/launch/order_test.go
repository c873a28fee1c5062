// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func TestNearOrder(t *testing.T) {
	t.Parallel()
	// name:island/network/local/rack
	for _, test := range []struct{ given, want string }{
		{"a:i/n1/l1/r1 b:i/n2/l3/r5 c:i/n1/l1/r1 d:i/n2/l3/r5", "a c b d"},
		{"a:i/n1/l1/r1 b:i/n1/l2/r2 c:i/n1/l1/r3 d:i/n1/l1/r1", "a d c b"}, // same rack, then same local block
		{"head:j/n9/l9/r9 b:i/n1/l1/r1 c:j/n9/l9/r9", "head c b"},          // the head stays first
		{"a b c", "a b c"},                            // nothing is known
		{"a:i/n1// b c:i/n1//", "a c b"},              // one is not known
		{"a:i/n1/l/r b:i/n2/l/r c:i/n1/l/r", "a c b"}, // names of racks repeat in other blocks
	} {
		var places []Place
		for field := range strings.FieldsSeq(test.given) {
			name, where, known := strings.Cut(field, ":")
			p := Place{Name: name}
			if known {
				at := strings.Split(where, "/")
				p.Topology = &job.Topology{HPCIsland: at[0], NetworkBlock: at[1], LocalBlock: at[2], Rack: at[3]}
			}
			places = append(places, p)
		}
		var got []string
		for _, i := range NearOrder(places) {
			got = append(got, places[i].Name)
		}
		if order := strings.Join(got, " "); order != test.want {
			t.Errorf("%s: %s, want %s", test.given, order, test.want)
		}
	}
}
