// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

type ncclTestsSourceModel struct {
	ArchiveURL types.String `tfsdk:"archive_url"`
	SHA256     types.String `tfsdk:"sha256"`
	GitURL     types.String `tfsdk:"git_url"`
	GitRef     types.String `tfsdk:"git_ref"`
	Make       types.Map    `tfsdk:"make"`
	Always     types.Bool   `tfsdk:"always"`
}

func (m *ncclTestsSourceModel) toJob() *job.NCCLTestsSource {
	if m == nil {
		return nil
	}
	s := &job.NCCLTestsSource{
		ArchiveURL: m.ArchiveURL.ValueString(), SHA256: m.SHA256.ValueString(), GitURL: m.GitURL.ValueString(), GitRef: m.GitRef.ValueString(), Always: m.Always.ValueBool(),
	}
	if len(m.Make.Elements()) > 0 {
		s.Make = stringMapOf(m.Make)
	}
	return s
}

func ncclTestsSourceAttribute() schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: description, Optional: true}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What nccl-tests are built from where the nodes, or the image of `container`, have none. One node builds, in its container where there is one, " +
			"and hands on what it built; it stays in `~/.ocihpc/nccl-tests` for the next measurement with the same source, architecture, Open MPI and image. " +
			"A compiler, the CUDA toolkit, and the headers of NCCL and Open MPI must be there.",
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"archive_url": text("Address of a tar archive, gzipped or not, that the node fetches by http or https."),
			"sha256":      text("SHA-256 of the archive in lower-case hex. Another archive is refused."),
			"git_url":     text("Repository in place of an archive, which the node fetches by git, such as `https://github.com/NVIDIA/nccl-tests.git`."),
			"git_ref":     text("Tag, branch or commit of the repository. A branch is built once, as it is then."),
			"make": schema.MapAttribute{
				MarkdownDescription: "Variables of the Makefile, such as `NVCC_GENCODE`, `CUDA_HOME` or `NCCL_HOME`. `MPI` is 1, and `MPI_HOME` is found, unless they are here.",
				Optional:            true, ElementType: types.StringType,
			},
			"always": schema.BoolAttribute{
				MarkdownDescription: "Whether to build them where there are some already, too. Default: false.",
				Optional:            true,
			},
		},
	}
}

// validateSource looks at what is known of nccl_tests_source when a configuration is planned.
func validateSource(ctx context.Context, config tfsdk.Config, diags *diag.Diagnostics) {
	at := path.Root("nccl_tests_source")
	var settings types.Object
	var dir types.String
	diags.Append(config.GetAttribute(ctx, at, &settings)...)
	diags.Append(config.GetAttribute(ctx, path.Root("nccl_tests_dir"), &dir)...)
	if settings.IsNull() || settings.IsUnknown() || diags.HasError() {
		return
	}
	if !dir.IsNull() {
		diags.AddAttributeError(path.Root("nccl_tests_dir"), "Two places of nccl-tests", "nccl_tests_dir names nccl-tests that are there, and nccl_tests_source what to build them from: leave one of them out.")
	}
	if hasUnknown(settings) {
		return // the runner looks at it, too
	}
	var m ncclTestsSourceModel
	diags.Append(config.GetAttribute(ctx, at, &m)...)
	if diags.HasError() {
		return
	}
	for _, element := range m.Make.Elements() {
		if element.IsUnknown() {
			return
		}
	}
	addInvalid(diags, at, m.toJob().Validate())
}
