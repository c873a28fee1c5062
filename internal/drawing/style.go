// SPDX-License-Identifier: MPL-2.0

package drawing

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"
)

// Class of a mark says what it stands for, and by that how it looks.
type Class string

// Classes.
const (
	Grid       Class = "grid"
	Label      Class = "label"      // text of an axis
	Value      Class = "value"      // text with a number
	Strong     Class = "strong"     // text on a strong box
	First      Class = "first"      // what the picture is about
	Second     Class = "second"     // what is compared with it
	Background Class = "background" // the many, thin
	Bad        Class = "bad"
	Doubtful   Class = "doubtful"
	Limit      Class = "limit" // below it is bad
	Absent     Class = "absent"
)

// Hue is the name of a colour.
type Hue string

// hues are the colours, on light and on dark ground.
var hues = map[Hue]struct{ light, dark string }{
	"card":  {"#ffffff", "#182029"},
	"text":  {"#17202b", "#e6ebf1"},
	"soft":  {"#5b6775", "#98a5b3"},
	"line":  {"#e1e5ea", "#2a3440"},
	"blue":  {"#1f5fd6", "#6ea8fe"},
	"amber": {"#d9730d", "#ff9f4a"},
	"grey":  {"#a4afbb", "#566472"},
	"red":   {"#c62f2f", "#ff7b72"},
}

type style struct {
	hue    Hue
	width  float64 // of lines
	dashed bool
	size   float64 // of text
	ringed bool    // dots have a ring in the colour of the ground
}

var styles = map[Class]style{
	Grid:       {hue: "line", width: 1},
	Label:      {hue: "soft", size: 12},
	Value:      {hue: "text", size: 12},
	Strong:     {hue: "card", size: 11},
	First:      {hue: "blue", width: 2.5, ringed: true},
	Second:     {hue: "amber", width: 2.5, dashed: true, ringed: true},
	Background: {hue: "grey", width: 1.25},
	Bad:        {hue: "red", width: 1.75},
	Doubtful:   {hue: "amber", width: 1.75},
	Limit:      {hue: "red", width: 1.5, dashed: true},
	Absent:     {hue: "line"},
}

const (
	dash, gap = 7.0, 5.0
	ring      = 1.5 // width of the ring around a dot
	fonts     = `system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`
)

// Variables gives the colours as CSS variables, for drawings in a page, on light or dark ground.
func Variables(dark bool) string {
	var b strings.Builder
	for _, hue := range slices.Sorted(maps.Keys(hues)) {
		value := hues[hue].light
		if dark {
			value = hues[hue].dark
		}
		fmt.Fprintf(&b, "--%s: %s; ", hue, value)
	}
	return strings.TrimSpace(b.String())
}

// CSS gives the rules for drawings in a page that has the [Variables].
func CSS() string { return rules(func(h Hue) string { return "var(--" + string(h) + ")" }) }

func rules(colour func(Hue) string) string {
	var b strings.Builder
	for _, class := range slices.Sorted(maps.Keys(styles)) {
		s := styles[class]
		if s.size > 0 {
			fmt.Fprintf(&b, "text.%s { font: %gpx %s; fill: %s; }\n", class, s.size, fonts, colour(s.hue))
			continue
		}
		fmt.Fprintf(&b, "path.%s { fill: none; stroke: %s; stroke-width: %g; stroke-linejoin: round; stroke-linecap: round;", class, colour(s.hue), s.width)
		if s.dashed {
			fmt.Fprintf(&b, " stroke-dasharray: %g %g;", dash, gap)
		}
		fmt.Fprintf(&b, " }\ncircle.%s, rect.%s { fill: %s; }\n", class, class, colour(s.hue))
		if s.ringed {
			fmt.Fprintf(&b, "circle.%s { stroke: %s; stroke-width: %g; }\n", class, colour("card"), ring)
		}
	}
	return b.String()
}

// light gives a colour on light ground.
func light(h Hue) color.NRGBA {
	var c color.NRGBA
	c.A = 255
	_, _ = fmt.Sscanf(hues[h].light, "#%02x%02x%02x", &c.R, &c.G, &c.B) // the table above
	return c
}
