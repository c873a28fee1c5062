// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// timeoutsAttribute is that of [timeouts.Attributes], which describes what is in it and not itself.
func timeoutsAttribute(ctx context.Context, opts timeouts.Opts) schema.Attribute {
	attribute := timeouts.Attributes(ctx, opts).(schema.SingleNestedAttribute)
	for name, operation := range attribute.Attributes {
		time := operation.(schema.StringAttribute)
		time.Validators = append(time.Validators, stringvalidator.RegexMatches(regexp.MustCompile(`^[^-]*[1-9]`), "must be longer than nothing, such as 90m"))
		attribute.Attributes[name] = time
	}
	attribute.MarkdownDescription = "How long each operation may take. What was begun when the time is over is kept, and the next apply goes on " +
		"with it. A change alone does nothing."
	return attribute
}
