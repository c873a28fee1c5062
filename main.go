// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-ocihpc serves the provider to Terraform, OpenTofu and OCI Resource Manager.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/ocihpc/terraform-provider-ocihpc/provider"
)

// version is set by the linker for a release.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve to a debugger: print how to attach and stay")
	flag.Parse()

	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: provider.Address,
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
