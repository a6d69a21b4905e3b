// Package auth gathers what a server may be shown: keys of the agent and of files, certificates, a password.
package auth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cmd-exec-mcp/backends/ssh/resolve"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
)

// Secrets are what config.star gives besides ssh_config. Each may be "".
type Secrets struct {
	Key        string // a file
	Passphrase string // of key files
	Password   string
}

// maxKeys stays below MaxAuthTries, which is six by default: a server hangs up on who shows more.
const maxKeys = 5

// Set is what one connection shows. Close it when the connection stands or has failed.
type Set struct {
	Methods []ssh.AuthMethod

	mu      sync.Mutex
	offered []string
	skipped []string
	close   func()
}

// Close lets go of the agent.
func (s *Set) Close() { s.close() }

// Offered says what was shown, and which keys could not be, for the message that a person gets.
func (s *Set) Offered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append([]string(nil), s.offered...), s.skipped...)
}

func (s *Set) show(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = append(s.offered, what)
}

func (s *Set) skip(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped = append(s.skipped, what)
}

// Methods gathers what there is for a hop. A key of the config that cannot be used is an error (NotFound, Denied); one that
// ssh_config names is passed over, as OpenSSH does.
func Methods(hop resolve.Hop, secrets Secrets) (*Set, error) {
	s := &Set{close: func() {}}
	agentKeys := s.agent(hop)
	files := hop.IdentityFiles
	var keys []named
	if secrets.Key != "" {
		files = append([]string{secrets.Key}, files...)
		key, err := load(secrets.Key, secrets.Passphrase)
		if held := only(agentKeys, []string{secrets.Key}); err != nil && len(held) > 0 && exists(secrets.Key) {
			key, err = held, nil
		}
		if err != nil {
			s.Close()
			return nil, err
		}
		keys = append(keys, key...)
	}
	// What the config names goes before the agent's other keys: an agent with many would use up the tries.
	chosen := only(agentKeys, files)
	keys = append(append(keys, chosen...), s.files(hop, secrets.Passphrase, chosen)...)
	if !hop.IdentitiesOnly {
		keys = append(keys, agentKeys...)
	}
	keys = distinct(withCertificates(keys, hop.CertificateFiles))
	if len(keys) > maxKeys {
		s.skip(fmt.Sprintf("%d more keys were not shown (IdentityFile with IdentitiesOnly yes chooses)", len(keys)-maxKeys))
		keys = keys[:maxKeys]
	}
	if len(keys) > 0 {
		s.Methods = append(s.Methods, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			signers := make([]ssh.Signer, len(keys))
			for i, k := range keys {
				signers[i] = k.Signer
				s.show(k.name)
			}
			return signers, nil
		}))
	}
	if secrets.Password != "" {
		s.Methods = append(s.Methods, s.password(secrets.Password), s.keyboard(secrets.Password))
	}
	return s, nil
}

func (s *Set) password(password string) ssh.AuthMethod {
	return ssh.PasswordCallback(func() (string, error) {
		s.show("the password")
		return password, nil
	})
}

// keyboard answers the one question for the password, and nothing else: a one-time code is a person's business, and a
// server whose password has expired asks for a new one with the same word.
func (s *Set) keyboard(password string) ssh.AuthMethod {
	answered := false
	return ssh.KeyboardInteractive(func(_, _ string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i, question := range questions {
			if answered || echos[i] || !asksPassword(question) {
				return nil, fmt.Errorf("the server asks %q, which nobody here can answer", question)
			}
			answered = true
			s.show("the password, typed")
			answers[i] = password
		}
		return answers, nil
	})
}

func asksPassword(question string) bool {
	q := strings.ToLower(strings.TrimSpace(question))
	for _, other := range []string{"new ", "enter new", "retype", "one-time", "one time"} {
		if strings.HasPrefix(q, other) {
			return false
		}
	}
	return strings.Contains(q, "password")
}

// named is a key and how a person would call it.
type named struct {
	ssh.Signer
	name string
}

// files loads those that exist; an encrypted one without its passphrase is said and passed over, unless the agent holds it.
func (s *Set) files(hop resolve.Hop, passphrase string, held []named) []named {
	var keys []named
	for _, file := range hop.IdentityFiles {
		if !exists(file) {
			continue
		}
		key, err := load(file, passphrase)
		if err != nil {
			if len(only(held, []string{file})) == 0 {
				s.skip(err.Error())
			}
			continue
		}
		keys = append(keys, key...)
	}
	return keys
}

// withCertificates puts each certificate before the key that it is about, wherever that key is held.
func withCertificates(keys []named, files []string) []named {
	var all []named
	for _, k := range keys {
		for _, file := range files {
			if signed, ok := certified(k.Signer, file); ok {
				all = append(all, named{signed, "certificate " + file})
			}
		}
		all = append(all, k)
	}
	return all
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// load reads a key file, and the certificate beside it, which goes first.
func load(file, passphrase string) ([]named, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, job.Errorf(job.NotFound, "the key %s cannot be read: %w", file, err).WithHint("give the file with the private key")
	}
	if wide(info) {
		return nil, job.Errorf(job.Denied, "the key %s can be read by others", file).WithHint("chmod 600 %s", file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, job.Errorf(job.Denied, "the key %s cannot be read: %w", file, err).WithHint("the server must run as the key's owner")
	}
	signer, err := ssh.ParsePrivateKey(data)
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		if passphrase == "" {
			return nil, job.Errorf(job.Denied, "the key %s is encrypted", file).WithHint("add it to the agent with ssh-add, or write passphrase=secret(...)")
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(data, []byte(passphrase))
	}
	if err != nil {
		return nil, job.Errorf(job.Denied, "the key %s cannot be opened: %w", file, err).WithHint("try ssh-keygen -y -f %s", file)
	}
	keys := []named{{signer, fmt.Sprintf("key %s (%s)", file, ssh.FingerprintSHA256(signer.PublicKey()))}}
	if signed, ok := certified(signer, file+"-cert.pub"); ok {
		keys = append([]named{{signed, "certificate " + filepath.Base(file) + "-cert.pub"}}, keys...)
	}
	return keys, nil
}

// certified joins a key with a certificate that is about it.
func certified(key ssh.Signer, file string) (ssh.Signer, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil, false
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, false
	}
	signer, err := ssh.NewCertSigner(cert, key)
	return signer, err == nil
}

func distinct(keys []named) []named {
	seen := map[string]bool{}
	var kept []named
	for _, k := range keys {
		if id := string(k.PublicKey().Marshal()); !seen[id] {
			seen[id] = true
			kept = append(kept, k)
		}
	}
	return kept
}
