// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// timeoutsAttribute is that of [timeouts.Attributes], which describes what is in it and not itself.
func timeoutsAttribute(ctx context.Context, opts timeouts.Opts) schema.Attribute {
	attribute := timeouts.Attributes(ctx, opts).(schema.SingleNestedAttribute)
	attribute.MarkdownDescription = "How long each operation may take. What was begun when the time is over is kept, and the next apply goes on " +
		"with it. A change alone does nothing."
	return attribute
}
