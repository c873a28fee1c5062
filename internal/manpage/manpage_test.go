// SPDX-License-Identifier: MPL-2.0

package manpage

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// program has what is hard for the formatter: lines that look like requests, backslashes, quotes and tables.
func program() *cobra.Command {
	run := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{Use: "tool", Short: "Do things", Version: "1.2.3", RunE: run}
	root.PersistentFlags().String("dir", "/var/lib/tool", "state `directory`")
	sub := &cobra.Command{
		Use: "look THING", Short: `See "a thing"`, RunE: run,
		Long: "Look at\n.a file\n'quoted' \\ back.\n\nExit status:\n  0   seen\n  64  wrong usage",
		Example: `  tool look a-thing
  .hidden`,
	}
	sub.Flags().StringP("output", "o", "table", "`format`: table or json")
	sub.Flags().Bool("internal", false, "")
	if err := sub.Flags().MarkHidden("internal"); err != nil {
		panic(err)
	}
	root.AddCommand(sub, &cobra.Command{Use: "secret", Hidden: true, RunE: run}, Command("tool", func(c cobra.PositionalArgs) cobra.PositionalArgs { return c }))
	return root
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	root := program()
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		pages[i] = filepath.Base(pages[i])
	}
	if got := strings.Join(pages, " "); got != "tool-completion-bash.1 tool-completion-fish.1 tool-completion-powershell.1 "+
		"tool-completion-zsh.1 tool-completion.1 tool-look.1 tool-man.1 tool.1" {
		t.Errorf("pages %s", got)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	cmd, _, err := program().Find([]string{"look"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.InitDefaultHelpFlag()
	page := Page(cmd)
	const want = `.TH "TOOL\-LOOK" "1" "" "tool 1.2.3" ""
.SH "NAME"
tool\-look \- See "a thing"
.SH "SYNOPSIS"
.B "tool look THING [flags]"
.SH "DESCRIPTION"
Look at
\&.a file
\&'quoted' \e back.
.SH "OPTIONS"
.TP
.B "\-h, \-\-help"
help for look
.TP
.B "\-o, \-\-output format"
format: table or json
(default table)
.SH "OPTIONS OF EVERY COMMAND"
.TP
.B "\-\-dir directory"
state directory
(default /var/lib/tool)
.SH "EXIT STATUS"
.nf
\&  0   seen
\&  64  wrong usage
.fi
.SH "EXAMPLES"
.nf
\&  tool look a\-thing
\&  .hidden
.fi
.SH "SEE ALSO"
.BR "tool" "(1)"
`
	if string(page) != want {
		t.Errorf("got\n%s", page)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		return
	}
	format := exec.CommandContext(t.Context(), "groff", "-man", "-Tascii", "-ww")
	format.Stdin, format.Env = bytes.NewReader(page), append(os.Environ(), "LC_ALL=C")
	if output, err := format.CombinedOutput(); err != nil || bytes.Contains(output, []byte("warning")) {
		t.Errorf("groff: %v\n%s", err, output)
	}
}
