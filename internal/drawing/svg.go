// SPDX-License-Identifier: MPL-2.0

package drawing

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// SVG writes the drawing as a file of its own, on light ground. The error is the writer's.
func (d *Drawing) SVG(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img">`+"\n<title>%s</title>\n<style>\n%s</style>\n",
		px(d.Width), px(d.Height), px(d.Width), px(d.Height), html.EscapeString(d.Name), rules(func(h Hue) string { return hues[h].light }))
	_, _ = fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="%s"/>`+"\n", hues["card"].light)
	_, _ = out.WriteString(d.elements())
	_, _ = out.WriteString("</svg>\n")
	return out.Flush() // gives the first error of all
}

// Element gives the drawing as an element of a page that has [CSS]. All text in it is escaped.
func (d *Drawing) Element(class string) string {
	return fmt.Sprintf(`<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n%s</svg>",
		html.EscapeString(class), px(d.Width), px(d.Height), html.EscapeString(d.Name), d.elements())
}

func (d *Drawing) elements() string {
	var b strings.Builder
	for _, m := range d.marks {
		b.WriteString(m.element())
		b.WriteByte('\n')
	}
	return b.String()
}

func (m mark) element() string {
	title := ""
	if m.title != "" {
		title = "<title>" + html.EscapeString(m.title) + "</title>"
	}
	switch at := m.points[0]; m.kind {
	case kindDot:
		return fmt.Sprintf(`<circle class="%s" cx="%s" cy="%s" r="%s">%s</circle>`, m.class, px(at.X), px(at.Y), px(m.radius), title)
	case kindBox:
		to := m.points[1]
		return fmt.Sprintf(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" fill-opacity="%.2f">%s</rect>`,
			m.class, px(at.X), px(at.Y), px(to.X-at.X), px(to.Y-at.Y), m.strength, title)
	case kindText:
		return fmt.Sprintf(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, m.class, px(at.X), px(at.Y), m.anchor, html.EscapeString(m.text))
	case kindLine:
	}
	var path strings.Builder
	for i, p := range m.points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%s %s", command, px(p.X), px(p.Y))
	}
	return fmt.Sprintf(`<path class="%s" d="%s"/>`, m.class, path.String())
}
