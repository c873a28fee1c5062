// SPDX-License-Identifier: MPL-2.0

package drawing

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// resolution is pixels a unit: the pictures are read on fine screens.
const resolution = 2

// PNG writes the drawing on light ground, with two pixels a unit. It fails where the writer does.
func (d *Drawing) PNG(w io.Writer) error {
	c := canvas{image.NewNRGBA(image.Rect(0, 0, int(math.Ceil(d.Width*resolution)), int(math.Ceil(d.Height*resolution))))}
	draw.Draw(c, c.Bounds(), image.NewUniform(light("card")), image.Point{}, draw.Src)
	for _, m := range d.marks {
		if err := c.draw(m); err != nil {
			return fmt.Errorf("draw a PNG: %w", err)
		}
	}
	if err := png.Encode(w, c); err != nil {
		return fmt.Errorf("write a PNG: %w", err)
	}
	return nil
}

type canvas struct{ *image.NRGBA }

func (c canvas) draw(m mark) error {
	s := styles[m.class]
	ink := light(s.hue)
	switch at := m.points[0]; m.kind {
	case kindText:
		return c.write(m, s.size, ink)
	case kindDot:
		if s.ringed {
			c.disc(at, m.radius+ring/2, light("card"))
			c.disc(at, m.radius-ring/2, ink)
			return nil
		}
		c.disc(at, m.radius, ink)
	case kindBox:
		ink.A = uint8(math.Round(m.strength * 255))
		to := m.points[1]
		c.fill(ink, at, Point{to.X, at.Y}, to, Point{at.X, to.Y})
	case kindLine:
		for i := 1; i < len(m.points); i++ {
			c.stroke(m.points[i-1], m.points[i], s, ink)
		}
	}
	return nil
}

// stroke draws one line with round ends, in dashes where the style has them.
func (c canvas) stroke(from, to Point, s style, ink color.NRGBA) {
	length := math.Hypot(to.X-from.X, to.Y-from.Y)
	if length == 0 {
		return
	}
	along := func(at float64) Point {
		return Point{from.X + (to.X-from.X)*at/length, from.Y + (to.Y-from.Y)*at/length}
	}
	step, drawn := length, length
	if s.dashed {
		step, drawn = dash+gap, dash
	}
	across := Point{(to.Y - from.Y) / length * s.width / 2, -(to.X - from.X) / length * s.width / 2}
	for at := 0.0; at < length; at += step {
		a, b := along(at), along(min(at+drawn, length))
		c.fill(ink, Point{a.X + across.X, a.Y + across.Y}, Point{b.X + across.X, b.Y + across.Y}, Point{b.X - across.X, b.Y - across.Y}, Point{a.X - across.X, a.Y - across.Y})
		if s.width > 1 { // else the joints of thin lines would show
			c.disc(a, s.width/2, ink)
			c.disc(b, s.width/2, ink)
		}
	}
}

// disc fills a circle, as a polygon of many corners.
func (c canvas) disc(at Point, radius float64, ink color.NRGBA) {
	const corners = 24
	var edge [corners]Point
	for i := range edge {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		edge[i] = Point{at.X + radius*cos, at.Y + radius*sin}
	}
	c.fill(ink, edge[:]...)
}

// fill fills a polygon. What lies outside of the picture is cut off.
func (c canvas) fill(ink color.NRGBA, corners ...Point) {
	box := image.Rectangle{}
	for i, p := range corners {
		at := image.Rect(int(math.Floor(p.X*resolution)), int(math.Floor(p.Y*resolution)), int(math.Ceil(p.X*resolution))+1, int(math.Ceil(p.Y*resolution))+1)
		if i == 0 {
			box = at
		}
		box = box.Union(at)
	}
	box = box.Intersect(c.Bounds())
	if box.Empty() {
		return
	}
	raster := vector.NewRasterizer(box.Dx(), box.Dy())
	for i, p := range corners {
		x, y := float32(p.X*resolution)-float32(box.Min.X), float32(p.Y*resolution)-float32(box.Min.Y)
		if i == 0 {
			raster.MoveTo(x, y)
		} else {
			raster.LineTo(x, y)
		}
	}
	raster.ClosePath()
	raster.Draw(c, box, image.NewUniform(ink), image.Point{})
}

var regular = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(goregular.TTF) })

func (c canvas) write(m mark, size float64, ink color.NRGBA) error {
	parsed, err := regular()
	if err != nil {
		return err
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size * resolution, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return err
	}
	defer face.Close() //nolint:errcheck // it is memory
	pen := font.Drawer{Dst: c, Src: image.NewUniform(ink), Face: face}
	x := fixed.Int26_6(m.points[0].X * resolution * 64)
	switch width := pen.MeasureString(m.text); m.anchor {
	case Middle:
		x -= width / 2
	case End:
		x -= width
	case Start:
	}
	pen.Dot = fixed.Point26_6{X: x, Y: fixed.Int26_6(m.points[0].Y * resolution * 64)}
	pen.DrawString(m.text)
	return nil
}
