// SPDX-License-Identifier: MPL-2.0

// Package manpage writes the manual pages of a command line from what its --help says: a page a command, in man(7)'s
// macros, so that both never differ.
package manpage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command is the command "man DIRECTORY", which writes the pages of a program. Check is what turns a wrong number of
// arguments into the program's own error.
func Command(program string, check func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages",
		Long: `Write a manual page for each command into a directory, which is made if it is not there. The directory man1 of a
place that "manpath" names is where man(1) finds them.`,
		Example: "  " + program + " man ~/.local/share/man/man1 && man " + program,
		Args:    check(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return Write(args[0], cmd.Root()) },
	}
}

// Write writes the pages of a command and of all below it into a directory, as name-of-command.1.
func Write(dir string, cmd *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- for everybody to read
		return fmt.Errorf("make the directory of the pages: %w", err)
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	path := filepath.Join(dir, name(cmd)+".1")
	if err := os.WriteFile(path, Page(cmd), 0o644); err != nil { // #nosec G306 -- for everybody to read
		return fmt.Errorf("write a manual page: %w", err)
	}
	for _, sub := range cmd.Commands() {
		if !documented(sub) {
			continue
		}
		if err := Write(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

func documented(cmd *cobra.Command) bool { return cmd.IsAvailableCommand() && cmd.Name() != "help" }

// name is a command's page: its path with hyphens, as git's are.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// exitStatus starts the paragraph of a help text that becomes a section of its own.
const exitStatus = "Exit status:"

// Page is a command's page.
func Page(cmd *cobra.Command) []byte {
	var p page
	program := cmd.Root().Name()
	p.macro("TH", strings.ToUpper(name(cmd)), "1", "", program+" "+cmd.Root().Version, "")
	p.section("Name")
	p.text(name(cmd) + " - " + cmd.Short)
	p.section("Synopsis")
	p.macro("B", cmd.UseLine())
	p.section("Description")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	description, statuses, _ := strings.Cut(long, exitStatus)
	p.paragraphs(description)
	p.flags("Options", cmd.NonInheritedFlags())
	p.flags("Options of every command", cmd.InheritedFlags())
	p.commands(cmd)
	if statuses != "" {
		p.section("Exit status")
		p.paragraphs(strings.TrimLeft(statuses, "\n"))
	}
	if cmd.Example != "" {
		p.section("Examples")
		p.verbatim(cmd.Example)
	}
	if cmd.HasParent() {
		p.section("See also")
		p.macro("BR", name(cmd.Parent()), "(1)")
	}
	return []byte(strings.Join(p, "\n") + "\n")
}

// page is the lines of a page.
type page []string

// macro writes a line that is a request to the formatter.
func (p *page) macro(macro string, arguments ...string) {
	line := "." + macro
	for _, argument := range arguments {
		line += ` "` + strings.ReplaceAll(escaped(argument), `"`, `\(dq`) + `"`
	}
	*p = append(*p, line)
}

func (p *page) section(title string) { p.macro("SH", strings.ToUpper(title)) }

// text writes lines that the formatter fills.
func (p *page) text(text string) {
	for line := range strings.Lines(text) {
		line = escaped(strings.TrimSpace(line))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line // or it were a request
		}
		*p = append(*p, line)
	}
}

// verbatim writes lines that stay as they are.
func (p *page) verbatim(text string) {
	p.macro("nf")
	for line := range strings.Lines(text) {
		*p = append(*p, `\&`+escaped(strings.TrimRight(line, "\n")))
	}
	p.macro("fi")
}

// paragraphs writes a help text: a paragraph with lines that are set in is a table.
func (p *page) paragraphs(text string) {
	for i, paragraph := range strings.Split(strings.TrimRight(text, "\n "), "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		if strings.HasPrefix(paragraph, "  ") || strings.Contains(paragraph, "\n  ") {
			p.verbatim(paragraph)
		} else {
			p.text(paragraph)
		}
	}
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(flag)
		spelled := "--" + flag.Name
		if flag.Shorthand != "" {
			spelled = "-" + flag.Shorthand + ", " + spelled
		}
		if value != "" {
			spelled += " " + value
		}
		p.macro("TP")
		p.macro("B", spelled)
		p.text(usage)
		switch flag.DefValue {
		case "", "false", "0", "[]", "0s":
		default:
			p.text("(default " + flag.DefValue + ")")
		}
	})
}

func (p *page) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.section("Commands")
	for _, sub := range cmd.Commands() {
		if documented(sub) {
			p.macro("TP")
			p.macro("BR", name(sub), "(1)")
			p.text(sub.Short)
		}
	}
}

// escaped has no character that the formatter takes for something else: a hyphen must stay one to be copied.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}
