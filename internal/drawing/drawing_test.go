// SPDX-License-Identifier: MPL-2.0

package drawing

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
)

// sample has every kind of mark, and text that would be markup.
func sample() *Drawing {
	d := &Drawing{Width: 100, Height: 60, Name: `<"&'>`}
	d.Box(Bad, Point{10, 10}, Point{30, 30}, 1, "a < b & c")
	d.Box(First, Point{40, 10}, Point{60, 30}, 0.5, "")
	d.Line(Bad, Point{10, 40}, Point{90, 40})
	d.Line(Second, Point{10, 50}, Point{90, 50})
	d.Dot(Background, Point{80, 20}, 5, "dot")
	d.Text(Value, Point{70, 35}, Middle, "<script>")
	return d
}

func TestSVGIsWellFormed(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := sample().SVG(&file); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"file": file.String(), "element": sample().Element("wide")} {
		decoder, elements := xml.NewDecoder(strings.NewReader(text)), map[string]int{}
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s is no XML: %v\n%s", name, err, text)
			}
			if start, is := token.(xml.StartElement); is {
				elements[start.Name.Local]++
			}
		}
		if elements["script"] > 0 || elements["path"] != 2 || elements["circle"] != 1 || elements["text"] != 1 {
			t.Errorf("%s has the elements %v", name, elements)
		}
	}
}

func TestPNGShowsTheSame(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := sample().PNG(&file); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&file)
	if err != nil || picture.Bounds() != image.Rect(0, 0, 200, 120) {
		t.Fatalf("%v %v", picture.Bounds(), err)
	}
	at := func(x, y int) color.NRGBA {
		return color.NRGBAModel.Convert(picture.At(resolution*x, resolution*y)).(color.NRGBA) //nolint:forcetypeassert // the model's
	}
	for _, c := range []struct {
		what string
		x, y int
		want color.NRGBA
	}{
		{"ground", 5, 5, light("card")}, {"box", 20, 20, light("red")}, {"dot", 80, 20, light("grey")}, {"line", 50, 40, light("red")},
		{"dash", 13, 50, light("amber")}, {"gap", 19, 50, light("card")},
		{"half a colour", 50, 20, color.NRGBA{0x8f, 0xaf, 0xea, 255}},
	} {
		got := at(c.x, c.y)
		for _, d := range []int{int(got.R) - int(c.want.R), int(got.G) - int(c.want.G), int(got.B) - int(c.want.B)} {
			if d < -3 || d > 3 {
				t.Errorf("%s is %v, not %v", c.what, got, c.want)
				break
			}
		}
	}
	ink := 0
	for x := 55; x < 90; x++ {
		for y := 26; y < 37; y++ {
			if at(x, y) != light("card") {
				ink++
			}
		}
	}
	if ink < 20 {
		t.Errorf("the text has %d dark points", ink)
	}
}

// A class without a style would be drawn in black, or not at all.
func TestEveryClassHasAStyle(t *testing.T) {
	t.Parallel()
	for _, class := range []Class{Grid, Label, Value, Strong, First, Second, Background, Bad, Doubtful, Limit, Absent} {
		s, ok := styles[class]
		if _, known := hues[s.hue]; !ok || !known {
			t.Errorf("%s has no style", class)
		}
		if !strings.Contains(CSS(), "."+string(class)+" ") && !strings.Contains(CSS(), "."+string(class)+",") {
			t.Errorf("%s has no CSS", class)
		}
	}
	if strings.Count(Variables(false), "--") != len(hues) || Variables(true) == Variables(false) {
		t.Error("the variables are not those of the colours")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	if sample().SVG(full{}) == nil || sample().PNG(full{}) == nil {
		t.Error("an error of the writer is lost")
	}
}
