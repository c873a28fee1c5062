// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Command is a program to run when the node needs it. At least one of Unless and Creates is set; with both, both must
// say that nothing has to be done.
type Command struct {
	Ident
	Program
	// Unless is a program whose exit status 0 says that nothing has to be done. One that is not installed says that
	// something has.
	Unless []string
	// Creates is a path whose presence says so.
	Creates string
	// Outside says that it downloads much, see [Downloader].
	Outside bool
}

// Title says the step.
func (c Command) Title() string { return c.title("Run " + strings.Join(c.Argv, " ")) }

// Downloads gives Outside.
func (c Command) Downloads() bool { return c.Outside }

// Check asks Unless and looks for Creates.
func (c Command) Check(ctx context.Context) (State, error) {
	if c.Creates != "" {
		_, err := os.Lstat(c.Creates)
		if errors.Is(err, fs.ErrNotExist) {
			return State{Detail: c.Creates + " is not there"}, nil
		}
		if err != nil {
			return State{}, err
		}
	}
	if len(c.Unless) == 0 {
		return State{Done: true, Detail: c.Creates + " is there"}, nil
	}
	question := c.Program
	question.Argv = c.Unless
	_, err := question.Run(ctx, nil)
	var program *ProgramError
	switch {
	case err == nil:
		return State{Done: true, Detail: c.Unless[0] + " says that it is done"}, nil
	case errors.As(err, &program) || missing(err):
		return State{Detail: err.Error()}, nil
	}
	return State{}, fmt.Errorf("ask whether it has to be done: %w", err)
}

// Apply runs the program.
func (c Command) Apply(ctx context.Context, output io.Writer) error {
	_, err := c.Run(ctx, output)
	return err
}
