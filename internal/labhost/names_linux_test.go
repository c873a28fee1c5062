// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func testHosts() *Hosts {
	return &Hosts{hosts: map[string]*host{"a": {hostname: "inst-ab3de-gpu", address: netip.MustParsePrefix("10.0.1.2/24")}}}
}

func question(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	packet, err := message.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return packet
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		kind    dnsmessage.Type
		code    dnsmessage.RCode
		answers int
	}{
		{"inst-ab3de-gpu.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		{"INST-ab3de-GPU.private.lab.oraclevcn.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		{"inst-ab3de-gpu.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, 0},
		{"inst-ab3de-gpu.example.com.", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		{"deb.debian.org.", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
	} {
		packet, err := testHosts().answer(question(t, test.name, test.kind))
		if err != nil {
			t.Fatal(err)
		}
		var reply dnsmessage.Message
		if err := reply.Unpack(packet); err != nil {
			t.Fatal(err)
		}
		if reply.ID != 7 || !reply.Response || reply.RCode != test.code || len(reply.Answers) != test.answers {
			t.Errorf("%s %s: %+v", test.name, test.kind, reply)
		}
		if test.answers == 1 && reply.Answers[0].Body.(*dnsmessage.AResource).A != [4]byte{10, 0, 1, 2} {
			t.Errorf("%s: %v", test.name, reply.Answers[0])
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(question(f, "inst-ab3de-gpu.", dnsmessage.TypeA))
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, packet []byte) {
		reply, err := testHosts().answer(packet)
		if err != nil {
			return
		}
		var message dnsmessage.Message
		if err := message.Unpack(reply); err != nil {
			t.Errorf("the answer to %x cannot be read: %v", packet, err)
		}
	})
}
