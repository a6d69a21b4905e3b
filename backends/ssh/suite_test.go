package ssh

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/backends/backendtest"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// TestSuite is the suite of all backends, for accounts with each kind of login shell, and for a small device.
func TestSuite(t *testing.T) {
	for _, test := range []struct{ name, user, port string }{
		{"bash", "cem-bash", "SSH_PORT"},
		{"dash", "cem-dash", "SSH_PORT"},
		{"fish", "cem-fish", "SSH_PORT"},
		{"ash", "cem-ash", "SSH_PORT"},
		{"noisy", "cem-noisy", "SSH_PORT"},
		{"root", "root", "SSH_PORT"},
		{"few", "cem-bash", "FEW_PORT"},
		{"device", "pi", "DEVICE_PORT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var opened []*Backend
			backendtest.Run(t, func(t *testing.T) backends.Backend {
				c := config(t, test.user, test.port)
				if test.name == "device" {
					c.Shell = "sh"
				}
				b, err := c.Open(t.Context(), backends.Env{Instance: "i_suite", Log: zerolog.Nop()})
				if err != nil {
					t.Fatal(err)
				}
				opened = append(opened, b.(*Backend))
				if test.name == "device" {
					return noFiles{b}
				}
				return sameHost{b.(*Backend)}
			}, backendtest.Options{Left: func() []string {
				var list []string
				for _, b := range opened {
					b.pool.mu.Lock()
					names := slices.Clone(b.pool.orphans) // all connections have ended
					b.pool.mu.Unlock()
					for _, name := range names {
						list = append(list, left(marker+"="+name)...)
					}
				}
				return list
			}})
		})
	}
}

// sameHost lets the suite know that it may look at what a command before did.
type sameHost struct{ *Backend }

func (s sameHost) Properties() backends.Properties {
	p := s.Backend.Properties()
	p.Isolated = false
	return p
}

// noFiles hides the files of a device without SFTP, and its terminals: the suite has a trap and a read in one loop, and
// BusyBox ends a read at every trapped signal.
type noFiles struct{ backends.Backend }

func (n noFiles) Properties() backends.Properties {
	p := n.Backend.Properties()
	p.Isolated, p.TTY = false, false
	return p
}

func (n noFiles) Start(ctx context.Context, cmd job.Command, io backends.IO) (backends.Process, error) {
	if cmd.TTY != nil {
		return nil, job.Errorf(job.Unsupported, "hidden for this test")
	}
	p, err := n.Backend.Start(ctx, cmd, io)
	if err != nil {
		return nil, err
	}
	return struct{ backends.Process }{p}, nil
}

// left names the processes of this machine whose environment holds text, after giving them a moment to end.
func left(text string) []string {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		list := now(text)
		if len(list) == 0 || time.Since(began) > 10*time.Second {
			return list
		}
	}
}

func now(text string) []string {
	var list []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if env, err := os.ReadFile(file); err == nil && strings.Contains("\x00"+string(env), "\x00"+text) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			list = append(list, filepath.Base(filepath.Dir(file))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}
