package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/internal/nearest"
)

// orderArguments puts a command line into the only order that urfave/cli v2
// parses: options of every command, the command, its own options, arguments.
// People write them in any order; after -- nothing is an option.
//
// An option that neither the program nor the command has is refused here, since
// the parser would not say what was meant.
func orderArguments(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	o := &argumentOrder{app: app}
	if err := o.read(args[1:]); err != nil {
		return nil, err
	}
	out := append([]string{args[0]}, o.global...)
	if o.command != nil {
		out = append(out, o.command.Name)
	}
	out = append(out, o.local...)
	if o.help {
		return out, nil // with an argument the parser would look for help on that
	}
	if len(o.rest) > 0 && (o.command == nil || !o.command.SkipFlagParsing) {
		out = append(out, "--")
	}
	return append(out, o.rest...), nil
}

type argumentOrder struct {
	app           *cli.App
	command       *cli.Command
	global, local []string // options with their values
	rest          []string // arguments
	help          bool     // asked for, before --
}

func (o *argumentOrder) read(args []string) error {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			o.remaining(args[i+1:])
			return nil
		case len(a) < 2 || a[0] != '-':
			o.word(a)
		default:
			taken, err := o.option(args[i:])
			if err != nil {
				return err
			}
			i += taken - 1
		}
	}
	return nil
}

// word files what is no option: the first is the command, when it is one.
func (o *argumentOrder) word(a string) {
	if o.command == nil && len(o.rest) == 0 {
		if o.command = o.app.Command(a); o.command != nil {
			return
		}
	}
	o.rest = append(o.rest, a)
}

// remaining files what follows --.
func (o *argumentOrder) remaining(args []string) {
	if len(args) > 0 {
		o.word(args[0])
		o.rest = append(o.rest, args[1:]...)
	}
}

// option files one option with its value and returns how many words it is.
func (o *argumentOrder) option(args []string) (int, error) {
	name, _, inline := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
	to := &o.local
	flag := findFlag(o.commandFlags(), name)
	if flag == nil {
		if flag = findFlag(o.app.Flags, name); flag != nil {
			to = &o.global
		}
	}
	if flag == nil {
		if name != "help" && name != "h" {
			return 0, o.unknownOption(name)
		}
		o.help = true
		if o.command == nil {
			to = &o.global
		}
	}
	words := 1
	if taker, ok := flag.(cli.DocGenerationFlag); ok && taker.TakesValue() && !inline {
		if len(args) < 2 {
			return 0, usage("option %s needs a value", args[0])
		}
		words = 2
	}
	*to = append(*to, args[:words]...)
	return words, nil
}

func (o *argumentOrder) unknownOption(name string) error {
	known := []string{"help"}
	for _, f := range append(o.commandFlags(), o.app.Flags...) {
		known = append(known, f.Names()[0])
	}
	e := &commandError{Code: codeUsage, Message: fmt.Sprintf("there is no option --%s", name), exit: exitUsage}
	e.Hint = "see " + programName + " --help"
	if o.command != nil {
		e.Message += " of " + o.command.Name
		e.Hint = "see " + programName + " " + o.command.Name + " --help"
	}
	if near := nearest.Of(name, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean --%s?", near)
	}
	return e
}

func (o *argumentOrder) commandFlags() []cli.Flag {
	if o.command == nil {
		return nil
	}
	return o.command.Flags
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}
