package backendtest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
)

func (s *suite) streamsApart() {
	s.script("echo out; echo err >&2; echo out2").expect("out\nout2\n", "err\n", 0)
}

func (s *suite) binaryOutput() {
	want := "\x00\x01\x1b[31m\x7f\x80\xff\r\n\xc3"
	s.script(`printf '\000\001\033[31m\177\200\377\r\n\303'`).expect(want, "", 0)
}

// Whoever reads one stream to its end before the other blocks the command here.
func (s *suite) megabyteOnEach() {
	r := s.script("head -c 1000000 /dev/zero >&2 & head -c 1000000 /dev/zero; wait; echo end")
	exit := r.wait()
	out, err := r.stdout.String(), r.stderr.String()
	if exit.Code != 0 || len(out) != 1000004 || !strings.HasSuffix(out, "end\n") || len(err) != 1000000 {
		s.Errorf("code %d, %d bytes on stdout, %d on stderr", exit.Code, len(out), len(err))
	}
}

func (s *suite) sideBySide() {
	var all sync.WaitGroup
	for i := range 12 {
		r := s.start(job.Command{Script: `i=0; while [ $i -lt 20 ]; do echo "$N"; i=$((i+1)); done; exit "$N"`, Env: map[string]string{"N": fmt.Sprint(i)}})
		all.Go(func() {
			exit, err := r.process.Wait()
			want := strings.Repeat(fmt.Sprintln(i), 20)
			if err != nil || exit.Code != i || r.stdout.String() != want {
				s.Errorf("%d: %+v %v %q", i, exit, err, clip(r.stdout.String()))
			}
		})
	}
	all.Wait()
}

func (s *suite) backgroundHoldsOutput() {
	start := time.Now()
	r := s.script("sleep 200 & echo hi")
	r.expect("hi\n", "", 0)
	if took := time.Since(start); took > s.o.Patience/2 {
		s.Errorf("it took %v: the background process was waited for", took)
	}
}

func (s *suite) nothingAfterWait() {
	r := s.script("(while :; do echo x; sleep 0.02; done) & echo hi")
	r.wait()
	time.Sleep(200 * time.Millisecond)
	for _, o := range []*output{&r.stdout, &r.stderr} {
		o.mu.Lock()
		if o.late > 0 {
			s.Errorf("%d bytes were written after Wait had returned", o.late)
		}
		o.mu.Unlock()
	}
}
