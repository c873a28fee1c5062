// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/provider"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// factories serve the provider from within the test, quick to look again and to give up.
var factories = map[string]func() (tfprotov6.ProviderServer, error){
	"ocihpc": providerserver.NewProtocol6WithError(provider.NewHasty()()),
}

func TestSchemasAreSound(t *testing.T) {
	t.Parallel()
	server, err := factories["ocihpc"]()
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range response.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	for name, schema := range response.ResourceSchemas {
		for _, attribute := range schema.Block.Attributes {
			if attribute.Description == "" {
				t.Errorf("%s.%s has no description", name, attribute.Name)
			}
		}
	}
}
