package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/provider-measure/provider-measure/docs"
	"github.com/provider-measure/provider-measure/provider"
)

func (s *session) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "bash|zsh|fish",
		Description: "The script knows the commands, their options, and the built-in capabilities and providers.\n" +
			"bash: source <(" + programName + " completion bash)\n" +
			"zsh:  " + programName + " completion zsh > a file _" + programName + " in $fpath\n" +
			"fish: " + programName + " completion fish | source",
		Action: s.completion,
	}
}

func (s *session) completion(c *cli.Context) error {
	if err := s.checkFormat(c); err != nil {
		return err
	}
	if c.NArg() != 1 {
		return usage("completion takes one shell: bash, zsh or fish")
	}
	words, err := completionWords(c.App)
	if err != nil {
		return err
	}
	switch shell := c.Args().First(); shell {
	case "bash":
		return s.write([]byte(words.bash()))
	case "zsh":
		return s.write([]byte(words.zsh()))
	case "fish":
		return s.write([]byte(words.fish()))
	default:
		return usage("completion for %q: the shells are bash, zsh and fish", shell)
	}
}

// completions is all that a script offers, in byte order.
type completions struct {
	global  []string            // options of every command
	first   []string            // commands, capabilities and all options: what may come first
	options map[string][]string // command to its options
	values  map[string][]string // command to its first argument
}

func completionWords(app *cli.App) (*completions, error) {
	manifests, err := provider.ParseBuiltins()
	if err != nil {
		return nil, err
	}
	set, err := provider.NewSet(manifests...)
	if err != nil {
		return nil, err
	}
	var codes []string
	for _, e := range explanations(docs.Codes) {
		codes = append(codes, e.Code)
	}
	words := &completions{
		global:  optionWords(notOfTheMainJob(app.Flags)),
		first:   append(set.CapabilityIDs(), optionWords(app.Flags)...),
		options: map[string][]string{},
		values: map[string][]string{
			"identify":   append(set.ProviderIDs(), set.CapabilityIDs()...),
			"digest":     {"executable", "tree", "record", "composite"},
			"schema":     schemaNames(),
			"explain":    codes,
			"completion": {"bash", "zsh", "fish"},
		},
	}
	for _, c := range app.Commands {
		words.first = append(words.first, c.Name)
		words.options[c.Name] = optionWords(c.Flags)
	}
	sort.Strings(words.first)
	return words, nil
}

// notOfTheMainJob leaves out what a command refuses.
func notOfTheMainJob(flags []cli.Flag) []cli.Flag {
	var out []cli.Flag
	for _, f := range flags {
		if !slices.Contains(mainOptions(), f.Names()[0]) {
			out = append(out, f)
		}
	}
	return out
}

func optionWords(flags []cli.Flag) []string {
	out := []string{"--help"}
	for _, f := range flags {
		out = append(out, "--"+f.Names()[0])
	}
	sort.Strings(out)
	return slices.Compact(out) // help is among the flags once the parser has been set up
}

func (w *completions) commands() []string {
	names := make([]string, 0, len(w.options))
	for name := range w.options {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (w *completions) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# bash completion for %[1]s
_provider_measure() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word words
  case $prev in
    --format) COMPREPLY=($(compgen -W 'json text' -- "$cur")); return ;;
    --python|--exclude) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --providers) COMPREPLY=($(compgen -d -- "$cur")); return ;;
  esac
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in %[2]s) command=$word; break ;; esac
  done
  words='%[3]s'
  case $command in
    '') words="$words %[4]s" ;;
`, programName, strings.Join(w.commands(), "|"), strings.Join(w.global, " "), strings.Join(w.first, " "))
	for _, name := range w.commands() {
		fmt.Fprintf(&b, "    %s) words=\"$words %s\" ;;\n", name, strings.Join(append(w.options[name], w.values[name]...), " "))
	}
	fmt.Fprintf(&b, `  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ -n "$command" ] && [ ${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "$cur"))
  return 0
}
complete -F _provider_measure %s
`, programName)
	return b.String()
}

func (w *completions) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef %[1]s
# zsh completion for %[1]s
local -a all
local command= word
for word in ${words[2,CURRENT-1]}; do
  case $word in %[2]s) command=$word; break ;; esac
done
case ${words[CURRENT-1]} in
  --format) compadd -- json text; return ;;
  --python|--exclude) _files; return ;;
  --providers) _files -/; return ;;
esac
all=(%[3]s)
case $command in
  '') all+=(%[4]s) ;;
`, programName, strings.Join(w.commands(), "|"), strings.Join(w.global, " "), strings.Join(w.first, " "))
	for _, name := range w.commands() {
		fmt.Fprintf(&b, "  %s) all+=(%s) ;;\n", name, strings.Join(append(w.options[name], w.values[name]...), " "))
	}
	b.WriteString(`esac
compadd -- $all
[[ $command == digest ]] && _files
return 0
`)
	return b.String()
}

func (w *completions) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s\n", programName)
	line := func(condition string, words []string) {
		fmt.Fprintf(&b, "complete -c %s -n '%s' -a '%s'\n", programName, condition, strings.Join(words, " "))
	}
	for _, values := range []string{
		flagFormat + " -x -a 'json text'", flagPython + " -r -F", flagProviders + " -x -a '(__fish_complete_directories)'",
	} {
		fmt.Fprintf(&b, "complete -c %s -l %s\n", programName, values)
	}
	all := strings.Join(w.commands(), " ")
	fmt.Fprintf(&b, "complete -c %s -f -n 'not __fish_seen_subcommand_from digest probe'\n", programName)
	line("not __fish_seen_subcommand_from "+all, w.first)
	fmt.Fprintf(&b, "complete -c %s -a '%s'\n", programName, strings.Join(w.global, " "))
	for _, name := range w.commands() {
		line("__fish_seen_subcommand_from "+name, append(w.options[name], w.values[name]...))
	}
	return b.String()
}
