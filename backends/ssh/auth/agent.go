package auth

import (
	"bytes"
	"net"
	"os"
	"time"

	"cmd-exec-mcp/backends/ssh/resolve"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// agentPatience is for an agent that hangs, like one whose own connection was cut: it then has no keys.
const agentPatience = 5 * time.Second

// signPatience is for a person who is asked to confirm, or to touch a key.
const signPatience = time.Minute

// patient gives each request that long to be answered.
type patient struct {
	net.Conn
	wait time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.wait))
	return p.Conn.Write(b)
}

// agent returns the agent's keys. The connection to it stays until Close, since it signs.
func (s *Set) agent(hop resolve.Hop) []named {
	socket := hop.IdentityAgent
	if socket == "" {
		socket = os.Getenv("SSH_AUTH_SOCK")
	}
	if socket == "" || socket == "none" {
		return nil
	}
	wire, err := net.DialTimeout("unix", socket, agentPatience)
	if err != nil {
		s.skip("the agent does not answer")
		return nil
	}
	patient := &patient{Conn: wire, wait: agentPatience}
	signers, err := agent.NewClient(patient).Signers()
	if err != nil {
		_ = wire.Close()
		s.skip("the agent does not answer")
		return nil
	}
	patient.wait = signPatience
	s.close = func() { _ = wire.Close() }
	keys := make([]named, len(signers))
	for i, signer := range signers {
		keys[i] = named{signer, "the agent's key " + ssh.FingerprintSHA256(signer.PublicKey())}
	}
	return keys
}

// only keeps the agent's keys that one of the files names: by its public half, which need not have the private one beside it.
func only(keys []named, files []string) []named {
	var kept []named
	for _, file := range files {
		public := publicHalf(file)
		for _, k := range keys {
			if public != nil && bytes.Equal(public.Marshal(), k.PublicKey().Marshal()) {
				kept = append(kept, k)
			}
		}
	}
	return kept
}

func publicHalf(file string) ssh.PublicKey {
	for _, name := range []string{file + ".pub", file} {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if key, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
			return key
		}
	}
	return nil
}
