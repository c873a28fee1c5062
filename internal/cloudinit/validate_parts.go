// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

var mergeTypeForm = regexp.MustCompile(`^(list|dict|str)\([a-z_,]*\)(\+(list|dict|str)\([a-z_,]*\))*$`)

func (v *validator) parts() {
	for i, p := range v.config.Parts {
		at := []any{"parts", i}
		if !slices.Contains(ContentTypes(), cmp.Or(p.ContentType, CloudConfig)) {
			v.add(append(slices.Clone(at), "content_type"), "%q is not a content type; those are %q.", p.ContentType, ContentTypes())
			continue
		}
		switch {
		case p.MergeType == "":
		case !p.isCloudConfig():
			v.add(append(slices.Clone(at), "merge_type"), "Only %s is merged.", CloudConfig)
		case !mergeTypeForm.MatchString(p.MergeType):
			v.add(append(slices.Clone(at), "merge_type"), "%q is not a merge type such as %s.", p.MergeType, DefaultMergeType)
		}
		v.part(append(at, "content"), p)
	}
}

func (v *validator) part(at []any, p Part) {
	switch content := p.Content; {
	case !utf8.ValidString(content) || strings.ContainsRune(content, 0):
		v.add(at, "The content is not text.")
	case p.isCloudConfig() && strings.HasPrefix(content, "## template: jinja"):
		v.add(at, "This is a template. Set content_type to %q.", Jinja)
	case p.isCloudConfig() && strings.HasPrefix(content, "#!"):
		v.add(at, "This is a script. Set content_type to %q.", ShellScript)
	case p.isCloudConfig():
		v.cloudConfigPart(at, content)
	case p.ContentType == ShellScript && !strings.HasPrefix(content, "#!"):
		v.add(at, "A script begins with a line such as #!/bin/sh.")
	}
}

func (v *validator) cloudConfigPart(at []any, content string) {
	root, err := readYAML(content)
	if err == nil {
		_, err = normal(root)
	}
	if err != nil {
		v.addSentence(at, "Invalid YAML: "+err.Error())
		return
	}
	for _, e := range keys().check(root, "") {
		v.addSentence(at, e.Error())
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		v.partEntry(at, root.Content[i], root.Content[i+1])
	}
}

// addSentence adds an error's text, which may lack its end.
func (v *validator) addSentence(at []any, text string) {
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	v.add(at, "%s", text)
}

// partEntry finds what a part would take away from the typed fields.
func (v *validator) partEntry(at []any, key, value *yaml.Node) {
	clash := map[string]bool{"timezone": v.config.Timezone != "", "locale": v.config.Locale != "",
		"package_upgrade": v.config.PackageUpgrade, "package_update": v.config.PackageUpgrade}
	if clash[key.Value] {
		v.addSentence(at, badNode(key, "%s is given by the attribute of this name too", key.Value).Error())
	}
	for _, item := range value.Content {
		switch {
		case key.Value == "write_files" && item.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(item.Content); i += 2 {
				if item.Content[i].Value == "path" {
					v.partFile(at, item.Content[i+1])
				}
			}
		case key.Value == "mounts" && item.Kind == yaml.SequenceNode && len(item.Content) > 1:
			v.partMount(at, item.Content[1])
		}
	}
}

func (v *validator) partFile(at []any, name *yaml.Node) {
	if _, typed := v.config.WriteFiles[name.Value]; typed {
		v.addSentence(at, badNode(name, "%q is in write_files of this resource too", name.Value).Error())
	} else if message := v.filePath(name.Value); message != "" {
		v.addSentence(at, badNode(name, "%s", message).Error())
	}
}

func (v *validator) partMount(at []any, point *yaml.Node) {
	n := v.config.NVMe
	where := strings.TrimSuffix(point.Value, "/")
	switch {
	case !strings.HasPrefix(where, "/"): // swap has none
		return
	case n != nil && (where == n.MountPoint || n.Layout == PerDisk && insideAny(where, []string{n.MountPoint}) ||
		n.ContainerStorage && slices.Contains(engineStores, where)):
		v.addSentence(at, badNode(point, "%s is mounted by nvme already", where).Error())
	case n != nil && insideAny(n.MountPoint, []string{where}):
		v.addSentence(at, badNode(point, "%s would hide %s, where nvme is mounted", where, n.MountPoint).Error())
	case v.mounted[where]:
		v.addSentence(at, badNode(point, "something is mounted at %s already", where).Error())
	}
	v.mounted[where] = true
}
