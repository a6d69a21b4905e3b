package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is the description for a terminal, without the config's path.
func (d Description) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server: %s\n", inline(d.Server))
	fmt.Fprintf(&b, "defaults: %s\n", inline(d.Defaults))
	for _, t := range d.Tools {
		fmt.Fprintf(&b, "\n%s (%s, %s)\n", t.Name, t.Kind, t.Declared)
		for _, s := range t.Targets {
			fmt.Fprintf(&b, "  backend  %s\n", s)
		}
		for _, g := range slices.Sorted(maps.Keys(t.Groups)) {
			fmt.Fprintf(&b, "  group    %s: %s\n", g, strings.Join(t.Groups[g], ", "))
		}
		for _, name := range slices.Sorted(maps.Keys(t.Policy)) {
			fmt.Fprintf(&b, "  policy   %s: %s\n", name, word(t.Policy[name]))
		}
		for _, h := range t.Hooks {
			fmt.Fprintf(&b, "  hook     %s\n", h)
		}
		if t.Dir != "" {
			fmt.Fprintf(&b, "  cwd      %s\n", t.Dir)
		}
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s", w)
	}
	if len(d.Secrets) > 0 {
		fmt.Fprintf(&b, "\nsecrets, never passed on or shown: %s\n", strings.Join(d.Secrets, ", "))
	}
	return b.String()
}

func (s Setting) String() string {
	text := fmt.Sprintf("%s(%s)", s.Function, inline(s.Args))
	if s.Name != "" {
		text = s.Name + ": " + text
	}
	return text
}

func inline(args map[string]any) string {
	parts := make([]string, 0, len(args))
	for _, k := range slices.Sorted(maps.Keys(args)) {
		parts = append(parts, fmt.Sprintf("%s=%s", k, word(args[k])))
	}
	return strings.Join(parts, ", ")
}
