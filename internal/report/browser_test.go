// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// seen is what a page looks like from within.
type seen struct {
	Overflow int     // pixels by which the page is wider than the screen
	Pictures []drawn // those that are shown
	Smallest float64 // height of the smallest text of a picture, in pixels
	Cut      []string
	Requests int // for anything but the page itself
}

type drawn struct {
	Section string
	Width   float64
	Marks   int
}

const look = `(() => {
  const shown = e => e.getClientRects().length > 0;
  const pictures = [...document.querySelectorAll('svg')].filter(shown);
  const texts = pictures.flatMap(p => [...p.querySelectorAll('text')]);
  return {
    Overflow: document.documentElement.scrollWidth - window.innerWidth,
    Pictures: pictures.map(p => ({Section: p.closest('section').id, Width: p.getBoundingClientRect().width, Marks: p.querySelectorAll('circle, rect').length})),
    Smallest: Math.min(1000, ...texts.map(t => t.getBoundingClientRect().height)),
    Requests: performance.getEntriesByType('resource').length,
    Cut: pictures.flatMap(p => { const box = p.getBoundingClientRect(); return [...p.querySelectorAll('text')].filter(t => { const b = t.getBoundingClientRect(); return b.left < box.left - 1 || b.right > box.right + 1 }).map(t => t.textContent) }),
  };
})()`

// TestReportInABrowser opens pages in headless Chromium, as wide as a screen and as narrow as a telephone.
func TestReportInABrowser(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(
		chromedp.ExecPath(findBrowser(t)), chromedp.NoSandbox, chromedp.Flag("disable-quic", true)))
	defer cancel()
	defer func() { _ = chromedp.Cancel(ctx) }() // lets the browser clean up
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	console := chromedp.Console(ctx)
	for name, sections := range map[string][]string{
		"found":    {"bandwidth", "latency", "each-node", "pairs"},
		"compared": {"bandwidth", "latency", "each-node"},
		"crowd":    {"bandwidth", "latency", "each-node"},
		"empty":    nil,
	} {
		var page bytes.Buffer
		if err := HTML(&page, samples()[name]); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{1280, 400} {
			err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file))
			if err != nil {
				t.Fatalf("open %s at %d: %v", name, width, err)
			}
			saw, err := chromedp.Run(ctx, chromedp.Evaluate[seen](look))
			if err != nil {
				t.Fatalf("look at %s at %d: %v", name, width, err)
			}
			saw.check(t, fmt.Sprintf("%s at %d", name, width), sections)
		}
	}
	const end = "all pages were seen"
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any]("console.log('"+end+"')")); err != nil {
		t.Fatal(err)
	}
	for message, err := range console {
		if err != nil {
			t.Fatalf("read the console: %v", err)
		}
		if message.Text == end {
			break
		}
		t.Errorf("the console has: %s", message)
	}
}

func (s seen) check(t *testing.T, name string, sections []string) {
	t.Helper()
	if s.Overflow > 0 {
		t.Errorf("%s: the page is %d pixels wider than the screen", name, s.Overflow)
	}
	if s.Requests > 0 {
		t.Errorf("%s: asks for %d other things", name, s.Requests)
	}
	if len(s.Cut) > 0 {
		t.Errorf("%s: text runs out of its picture: %q", name, s.Cut)
	}
	if len(s.Pictures) != len(sections) {
		t.Errorf("%s: shows %v, not %v", name, s.Pictures, sections)
		return
	}
	for i, section := range sections {
		if p := s.Pictures[i]; p.Section != section || p.Width < 300 || p.Marks < 2 {
			t.Errorf("%s: shows %+v, not %s", name, p, section)
		}
	}
	if len(sections) > 0 && s.Smallest < 9 {
		t.Errorf("%s: the smallest text of a picture is %.1f pixels high", name, s.Smallest)
	}
}

// findBrowser skips where there is none; `make test` installs one where the distribution has a package of it.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium on this machine")
	return ""
}
