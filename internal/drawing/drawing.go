// SPDX-License-Identifier: MPL-2.0

// Package drawing draws charts: what is drawn once is written as SVG, for a page or as a file of its own, or as PNG.
package drawing

import "fmt"

// Drawing is a picture, from back to front. Lengths are in the units of an SVG, which are pixels at its own size.
type Drawing struct {
	Width, Height float64
	// Name tells what it shows to those who cannot see it.
	Name  string
	marks []mark
}

// Point is a place, from the upper left corner.
type Point struct{ X, Y float64 }

type kind int

const (
	kindLine kind = iota
	kindDot
	kindBox
	kindText
)

// mark is one thing that is drawn.
type mark struct {
	kind     kind
	class    Class
	points   []Point // of a line; the place of a dot or text; two corners of a box
	radius   float64
	strength float64 // of a box's colour, 0 to 1
	anchor   Anchor
	text     string
	title    string // what pointing at it shows
}

// Anchor is the part of a text that is at its place.
type Anchor string

// Anchors.
const (
	Start  Anchor = "start"
	Middle Anchor = "middle"
	End    Anchor = "end"
)

// Line draws lines from point to point.
func (d *Drawing) Line(class Class, points ...Point) {
	d.marks = append(d.marks, mark{kind: kindLine, class: class, points: points})
}

// Dot draws a filled circle; pointing at it shows the title.
func (d *Drawing) Dot(class Class, at Point, radius float64, title string) {
	d.marks = append(d.marks, mark{kind: kindDot, class: class, points: []Point{at}, radius: radius, title: title})
}

// Box draws a filled rectangle, its colour so strong from 0 to 1; pointing at it shows the title.
func (d *Drawing) Box(class Class, from, to Point, strength float64, title string) {
	d.marks = append(d.marks, mark{kind: kindBox, class: class, points: []Point{from, to}, strength: min(max(strength, 0), 1), title: title})
}

// Text writes one line of text, whose baseline is at a place.
func (d *Drawing) Text(class Class, at Point, anchor Anchor, text string) {
	d.marks = append(d.marks, mark{kind: kindText, class: class, points: []Point{at}, anchor: anchor, text: text})
}

// px writes a length.
func px(v float64) string { return fmt.Sprintf("%.1f", v) }
