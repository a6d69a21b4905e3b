//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// logWriter puts one stream into a log, as a session's pump does.
type logWriter struct{ log *stream.Log }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Append(job.Stdout, p)
	return len(p), nil
}

// keeping is L6: what it costs to keep output.
func keeping(l *lab) error {
	const command = "head -c 10M /dev/zero"
	b, err := openLocal()
	if err != nil {
		return err
	}
	defer b.Close(context.Background())
	keep := func() (time.Duration, error) {
		log := stream.NewLog(stream.Limits{Bytes: 10 << 20}, nil)
		defer log.Close()
		took, err := l.inProcess(b, command, backends.IO{Stdout: logWriter{log}, Stderr: io.Discard})
		if err == nil && log.Total(job.Stdout) != 10<<20 {
			err = fmt.Errorf("%d bytes were kept", log.Total(job.Stdout))
		}
		return took, err
	}
	discard := func() (time.Duration, error) {
		return l.inProcess(b, command, backends.IO{Stdout: io.Discard, Stderr: io.Discard})
	}
	p, err := alternate(l.rounds(300), keep, discard)
	if err != nil {
		return err
	}
	report("L6", p.ratio(), limit{bar: 1.25, goal: 1.15}, "10 MB of output kept / discarded %s", p.both("discarded"))
	return nil
}

// gigabyte is L7: the rate at which output passes, and the memory it takes.
func gigabyte(l *lab) error {
	command, size := "head -c 1G /dev/zero", int64(1<<30)
	if l.short {
		command, size = "head -c 64M /dev/zero", 64<<20
	}
	floor, err := l.floor()
	if err != nil {
		return err
	}
	config := filepath.Join(l.dir, "plain.star")
	if err := os.WriteFile(config, []byte(`shell_tool("execute_local", backend=local(), policy=policy(), redact=[])`), 0o600); err != nil {
		return err
	}
	s, err := l.serve("--config", config)
	if err != nil {
		return err
	}
	defer s.close()
	p, err := alternate(l.rounds(30), s.timed(l.shell(command), `"exit_code":0`), func() (time.Duration, error) {
		took, got, err := floor.run(1, true, command)
		if err == nil && got != size {
			err = fmt.Errorf("the floor read %d bytes", got)
		}
		return took, err
	})
	if err != nil {
		return err
	}
	rate := float64(size) / 1e9
	report("L7", 1/p.ratio(), limit{bar: 0.85, goal: 0.95, atLeast: true}, "1 GB of output over stdio, without redaction: rate / that of a reader that discards, with pipes of 1 MiB (%.2f GB/s; %.2f GB/s)",
		rate/median(p.ours), rate/median(p.other))
	report("L7.mem", memory(s.cmd.Process.Pid, "VmHWM"), limit{bar: 40, goal: 25}, "MiB of memory at most meanwhile")
	return nil
}

// background is L8: a command that leaves something running, which holds its output.
func background(l *lab) error {
	floor, err := l.floor()
	if err != nil {
		return err
	}
	s, err := l.serve()
	if err != nil {
		return err
	}
	defer s.close()
	lost := 0
	call := l.shell("sleep 3 & echo hi")
	ours := func() (time.Duration, error) {
		began := time.Now()
		r, err := s.call(call)
		if r.Stdout != "hi\n" {
			lost++
		}
		return time.Since(began), err
	}
	p, err := alternate(l.rounds(200), ours, floor.timed("sleep 3 >/dev/null 2>&1 & echo hi"))
	if err != nil {
		return err
	}
	report("L8", milliseconds(p.difference().Seconds()), limit{bar: 30, goal: 15}, "milliseconds for `sleep 3 & echo hi` beyond the floor, whose sleep holds nothing %s", p.both("floor"))
	report("L8.out", float64(lost), limit{}, "of %d calls, how many came without their output", len(p.ours)+3)
	return nil
}

// sessionBuffer is B1.
func sessionBuffer(l *lab) error {
	const piece = 64 << 10
	total := 64 << 20
	if l.short {
		total = 1 << 20
	}
	data := []byte(strings.Repeat(strings.Repeat("x", 79)+"\n", piece/80))
	ring := make([]byte, 10<<20)
	lines := float64(total / 80)
	limits := stream.Limits{Bytes: 10 << 20, Lines: 10_000}
	fill := func(step int) timed {
		return func() (time.Duration, error) {
			log := stream.NewLog(limits, nil)
			defer log.Close()
			began := time.Now()
			for done := 0; done < total; {
				for at := 0; at < len(data); at += step {
					log.Append(job.Stdout, data[at:min(at+step, len(data))])
				}
				done += len(data)
			}
			return time.Since(began), nil
		}
	}
	memcpy := func() (time.Duration, error) {
		began := time.Now()
		for done, at := 0, 0; done < total; done += len(data) {
			if at+len(data) > len(ring) {
				at = 0
			}
			at += copy(ring[at:], data)
		}
		return time.Since(began), nil
	}
	p, err := alternate(l.rounds(200), fill(len(data)), memcpy)
	if err != nil {
		return err
	}
	single, err := fill(80)()
	if err != nil {
		return err
	}
	report("B1", p.ratio(), limit{bar: 3, goal: 2}, "a session's buffer fed with lines of 80 bytes / copying them into a ring of 10 MB (copying: %.1f ns a line)", median(p.other)/lines*1e9)
	report("B1.ns", median(p.ours)/lines*1e9, limit{bar: 20, goal: 10}, "nanoseconds a line, fed 64 KB at a time (one by one: %.0f)", single.Seconds()/lines*1e9)
	report("B1.mem", idleLog(), limit{bar: 64, goal: 8}, "KiB of an idle session's buffer")
	return nil
}
