package config

import (
	"errors"
	"os"
	"strings"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/policy"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// loader is one evaluation. It belongs to one goroutine, and is thrown away with it.
type loader struct {
	mistakes
	o             Options
	dir           string
	cfg           *Config
	calls         map[place]*syntax.CallExpr
	predeclared   starlark.StringDict
	modules       map[string]*module
	functions     []function
	tools         []*toolDecl
	defaultPolicy *policy.Config             // of every tool that says none
	once          map[string]syntax.Position // statements that may stand once, and names that must be unique
	made          map[any]*made              // by the pointer that it holds: where a value was written
	print         func(*starlark.Thread, string)
}

// loading is the name under which the loading thread, and no other, knows its loader.
const loading = "config.loader"

func newLoader(name, dir string, o Options) *loader {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Limits == nil {
		o.Limits = &DefaultLimits
	}
	l := &loader{
		o: o, dir: dir,
		cfg:           &Config{Dir: dir, Server: newServer(), Defaults: newDefaults()},
		calls:         map[place]*syntax.CallExpr{},
		modules:       map[string]*module{},
		defaultPolicy: policy.NewConfig(),
		once:          map[string]syntax.Position{},
		made:          map[any]*made{},
	}
	l.main, l.mask = name, l.hideSecrets
	l.print = func(_ *starlark.Thread, msg string) { o.Log.Info().Str("name", "config").Msg(l.hideSecrets(msg)) }
	l.functions = language(o)
	l.predeclared = l.predeclare()
	return l
}

// hideSecrets keeps what secret() returned out of messages and the log.
func (l *loader) hideSecrets(s string) string {
	for _, v := range l.cfg.SecretValues {
		s = strings.ReplaceAll(s, v, "[redacted]")
	}
	return s
}

func evaluate(name string, src []byte, dir string, o Options) (*Config, error) {
	l := newLoader(name, dir, o)
	thread := &starlark.Thread{Name: name, Print: l.print, Load: l.load}
	thread.SetLocal(loading, l)
	err := limited(thread, *l.o.Limits, func() error {
		l.run(thread, name, src)
		return nil
	})
	if err != nil {
		// The loader may still be in use by an abandoned goroutine: it is not looked at any more.
		return nil, Errors{{File: name, Line: 1, Col: 1, Msg: err.Error()}}
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return l.cfg, nil
}

func (l *loader) run(thread *starlark.Thread, name string, src []byte) {
	if !utf8.Valid(src) {
		l.add(syntax.MakePosition(&name, 1, 1), "save it as UTF-8", "the file is no valid UTF-8")
		return
	}
	_, ok := l.exec(thread, name, src)
	if len(l.tools) == 0 && ok && len(l.list) == 0 {
		l.add(syntax.MakePosition(&name, 1, 1), `write shell_tool("execute_local", backend=local())`, "the config declares no tool")
	}
	thread.SetLocal(loading, nil) // functions that run in policy examples may not declare anything
	l.cfg.origin = l.origin()
	l.finishTools()
}

// exec runs one file and returns its frozen globals; ok is false when it did not come to its end.
func (l *loader) exec(thread *starlark.Thread, name string, src []byte) (globals starlark.StringDict, ok bool) {
	prog, predeclared := l.compile(name, src)
	if prog == nil {
		return nil, false
	}
	globals, err := prog.Init(thread, predeclared)
	globals.Freeze()
	if err != nil && !errors.Is(err, errReported) {
		l.addRuntime(name, err)
	}
	return globals, err == nil
}

// errReported stops a thread whose mistake was recorded already.
var errReported = errors.New("reported")

func (l *loader) addRuntime(name string, err error) {
	pos := syntax.MakePosition(&name, 1, 1)
	msg := err.Error()
	if e, ok := errors.AsType[*starlark.EvalError](err); ok {
		if p, ok := innermost(e.CallStack); ok {
			pos = p
		}
		msg = e.Msg
	}
	msg = strings.TrimPrefix(msg, "fail: ")
	msg = strings.TrimPrefix(msg, "Starlark computation cancelled: ")
	l.add(pos, "", "%s", msg)
}

// innermost is where a config file, not a built-in, was at work.
func innermost(stack starlark.CallStack) (syntax.Position, bool) {
	for i := range len(stack) {
		if pos := stack.At(i).Pos; pos.Filename() != builtinFile && pos.Line > 0 {
			return pos, true
		}
	}
	return syntax.Position{}, false
}

// builtinFile is the file name that Starlark gives to functions written in Go.
const builtinFile = "<builtin>"
