package backendtest

import (
	"strings"

	"cmd-exec-mcp/runtime/job"
)

func (s *suite) exitCode() {
	for _, code := range []int{0, 1, 3, 125, 255} {
		r := s.start(job.Command{Script: `exit "$C"`, Env: map[string]string{"C": itoa(code)}})
		r.expect("", "", code)
	}
}

func (s *suite) signalNamed() {
	for name, code := range map[string]int{"KILL": 137, "TERM": 143, "SEGV": 139} {
		exit := s.script("kill -" + name + " $$").wait()
		if exit.Code != code || exit.Signal != name || exit.Cause != job.Signaled {
			s.Errorf("%s: %+v, want code %d and the signal's name", name, exit, code)
		}
	}
}

func (s *suite) notFound() {
	r := s.script("no_such_command_here")
	if exit := r.wait(); exit.Code != 127 || !strings.Contains(r.stderr.String(), "not found") {
		s.Errorf("%+v %q", exit, r.stderr.String())
	}
	r = s.start(job.Command{Argv: []string{"no_such_command_here"}})
	if exit := r.wait(); exit.Code != 127 {
		s.Errorf("as argv: %+v %q", exit, r.stderr.String())
	}
}

func (s *suite) notExecutable() {
	r := s.script("/etc/passwd")
	if exit := r.wait(); exit.Code != 126 || r.stderr.String() == "" {
		s.Errorf("%+v %q", exit, r.stderr.String())
	}
	r = s.start(job.Command{Argv: []string{"/etc/passwd"}})
	if exit := r.wait(); exit.Code != 126 {
		s.Errorf("as argv: %+v %q", exit, r.stderr.String())
	}
}

var nasty = []string{"", " ", "a b", `a'b "c" $d`, "`id`$(id)", "two\nlines\n", `back\slash\\`, "*", "~", "!x", "%s", "é 你好", "-n", "#", ";|&"}

func (s *suite) argv() {
	args := append([]string{"printf", "<%s>"}, nasty...)
	s.start(job.Command{Argv: args}).expect("<"+strings.Join(nasty, "><")+">", "", 0)
}

func (s *suite) textLikeAnOption() {
	for _, text := range []string{"-x echo no", "+x echo no", "--version"} {
		r := s.script(text)
		if exit := r.wait(); exit.Code != 127 || r.stdout.String() != "" {
			s.Errorf("%q was taken for an option: %+v %q", text, exit, r.stdout.String())
		}
	}
}

func (s *suite) longText() {
	line := strings.Repeat("x", 79)
	text := "cat <<'END' | wc -c\n" + strings.Repeat(line+"\n", 1250) + "END\n"
	r := s.script(text)
	if exit := r.wait(); exit.Code != 0 || strings.TrimSpace(r.stdout.String()) != "100000" {
		s.Errorf("%+v %q %q", exit, clip(r.stdout.String()), clip(r.stderr.String()))
	}
}

func (s *suite) environment() {
	for _, value := range nasty {
		r := s.start(job.Command{Script: `printf '<%s>' "$SUITE_VALUE"; printf '<%s>' "${SUITE_VALUE+set}"`, Env: map[string]string{"SUITE_VALUE": value}})
		r.expect("<"+value+"><set>", "", 0)
	}
}

func (s *suite) directory() {
	r := s.start(job.Command{Script: "pwd -P", Dir: "/usr"})
	r.expect("/usr\n", "", 0)
	name := "/tmp/suite dir é'x"
	s.start(job.Command{Script: `mkdir -p "$D" && cd "$D" && pwd`, Env: map[string]string{"D": name}}).expect(name+"\n", "", 0)
	if s.properties.Sandbox {
		return // the next command may have a sandbox of its own
	}
	s.start(job.Command{Script: "pwd", Dir: name + "/"}).expect(name+"\n", "", 0)
	s.start(job.Command{Script: "pwd", Argv: []string{"pwd"}, Dir: name}).expect(name+"\n", "", 0)
	s.start(job.Command{Script: `rmdir "$D"`, Env: map[string]string{"D": name}}).expect("", "", 0)
	home := s.script("cd ~ && pwd")
	home.wait()
	s.start(job.Command{Script: "pwd", Dir: "~"}).expect(home.stdout.String(), "", 0)
}

func (s *suite) directoryErrors() {
	for dir, words := range map[string][]string{"/no/such/dir": {"/no/such/dir"}, "/etc/passwd": {"/etc/passwd"}} {
		r, err := s.try(job.Command{Script: "echo ran", Dir: dir})
		s.kind(err, job.NotFound, words...)
		if r != nil && r.stdout.String() != "" {
			s.Errorf("it ran in spite of %s: %q", dir, r.stdout.String())
		}
	}
}

func (s *suite) shells() {
	for _, name := range s.properties.Shells {
		if name != "pwsh" { // reads no POSIX text
			s.start(job.Command{Script: "x=a; echo ${x}b", Shell: name}).expect("ab\n", "", 0)
		}
	}
	_, err := s.try(job.Command{Script: "true", Shell: "no_such_shell"})
	s.kind(err, job.NotFound, "no_such_shell")
}

func (s *suite) resolve() {
	once, err := s.backend.Resolve(s.context(), s.command(job.Command{Script: "true"}))
	if err != nil {
		s.Fatal(err)
	}
	twice, err := s.backend.Resolve(s.context(), once)
	if err != nil || twice.Shell != once.Shell || twice.Dir != once.Dir || twice.Script != once.Script {
		s.Errorf("resolving again changed it: %+v, then %+v (%v)", once, twice, err)
	}
	if once.Shell == "" {
		s.Error("a resolved text does not say which shell will run it")
	}
}

func (s *suite) login() {
	r := s.start(job.Command{Script: "echo $X; exit 4", Login: true, Env: map[string]string{"X": "a b"}})
	if exit := r.wait(); exit.Code != 4 || r.stdout.String() != "a b\n" {
		s.Errorf("%+v %q %q", exit, r.stdout.String(), r.stderr.String())
	}
}
