package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/api/types/registry"
)

// auth is what `docker login` leaves in config.json where there is no credentials helper.
type auth struct {
	Auth          string `json:"auth"` // base64 of user:password
	IdentityToken string `json:"identitytoken"`
}

const (
	dockerHub     = "docker.io"
	dockerHubKey  = "https://index.docker.io/v1/"
	helperTimeout = 10 * time.Second
)

// registryOf is the registry of an image's name: its first part, if that looks like a host.
func registryOf(name string) string {
	host, _, ok := strings.Cut(name, "/")
	if ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return host
	}
	return dockerHub
}

// registryAuth finds the login for an image as the docker command does; "" if there is none.
func registryAuth(ctx context.Context, name string) (string, error) {
	s, key := readSettings(), registryOf(name)
	if key == dockerHub {
		key = dockerHubKey
	}
	helper := s.CredHelpers[key]
	if helper == "" {
		helper = s.CredsStore
	}
	var login registry.AuthConfig
	if helper != "" {
		login = askHelper(ctx, helper, key)
	}
	for _, k := range []string{key, "https://" + key, "http://" + key, "https://" + key + "/v1/"} {
		if entry, ok := s.Auths[k]; ok && login.Username == "" && login.IdentityToken == "" {
			raw, _ := base64.StdEncoding.DecodeString(entry.Auth)
			user, password, _ := strings.Cut(string(raw), ":")
			login = registry.AuthConfig{Username: user, Password: strings.TrimRight(password, "\x00"), IdentityToken: entry.IdentityToken}
		}
	}
	if login.Username == "" && login.IdentityToken == "" {
		return "", nil
	}
	login.ServerAddress = key
	encoded, err := registry.EncodeAuthConfig(login)
	if err != nil {
		return "", job.Errorf(job.Internal, "the login for %s could not be encoded", key)
	}
	return encoded, nil
}

// askHelper asks a credentials helper of the docker command; one that fails or knows nothing leaves us without a login.
func askHelper(ctx context.Context, helper, key string) (login registry.AuthConfig) {
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(key)
	out, err := cmd.Output()
	var answer struct{ Username, Secret string }
	if err != nil || json.NewDecoder(bytes.NewReader(out)).Decode(&answer) != nil {
		return login
	}
	if answer.Username == "<token>" {
		login.IdentityToken = answer.Secret
		return login
	}
	login.Username, login.Password = answer.Username, answer.Secret
	return login
}
