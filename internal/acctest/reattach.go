// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

// Serve serves a provider from within the test, and gives what makes [NewTerraform] use it, as NAME=value.
func Serve(t *testing.T, server func() tfprotov6.ProviderServer) string {
	t.Helper()
	address := host() + "/" + Source
	ctx, cancel := context.WithCancel(context.Background())
	reattach, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	go func() {
		if err := tf6server.Serve(address, server, tf6server.WithDebug(ctx, reattach, closed), tf6server.WithLoggingSink(t)); err != nil {
			t.Errorf("serve the provider: %v", err)
		}
	}()
	at := <-reattach
	t.Cleanup(func() {
		cancel()
		<-closed
	})
	type networkAddress struct{ Network, String string }
	text, err := json.Marshal(map[string]any{address: map[string]any{
		"Protocol": at.Protocol, "ProtocolVersion": at.ProtocolVersion, "Pid": os.Getpid(), "Test": true,
		"Addr": networkAddress{at.Addr.Network(), at.Addr.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return "TF_REATTACH_PROVIDERS=" + string(text)
}
