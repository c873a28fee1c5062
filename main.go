// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-ocihpc serves the provider to Terraform, OpenTofu and OCI Resource Manager.
package main

import (
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/ocihpc/terraform-provider-ocihpc/provider"
)

// version is set by the linker for a release.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve to a debugger: print how to attach and stay")
	flag.Parse()

	var options []tf6server.ServeOpt
	var changes changes
	if *debug {
		options = append(options, tf6server.WithManagedDebug())
	} else {
		go changes.exitWithParent()
	}
	server := func() tfprotov6.ProviderServer {
		return counted{providerserver.NewProtocol6(provider.New(version)())(), &changes}
	}
	if err := tf6server.Serve(provider.Address, server, options...); err != nil {
		log.Fatal(err)
	}
}
