package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bridge is the address of this machine on the tests' Docker bridge.
const bridge = "172.30.99.1"

// sources serves a Debian repository of one package and a Python index of one wheel on the bridge.
func sources(t *testing.T) (address string) {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	control := "Package: cem-hello\nVersion: 1.0\nArchitecture: all\nMaintainer: tests <tests@example.org>\nDescription: says hello\n"
	put("tree/DEBIAN/control", control)
	put("tree/usr/bin/cem-hello", "#!/bin/sh\necho hello from a package\n")
	put("tree/var/lib/cem-hello/state", "x")
	put("tree/DEBIAN/postinst", "#!/bin/sh\nset -e\nchown 65534:65534 /var/lib/cem-hello/state\n")
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", filepath.Join(root, "tree"), filepath.Join(root, "cem-hello.deb")).CombinedOutput(); err != nil {
		skipOrFail(t, "dpkg-deb: %v %s", err, out)
	}
	deb, err := os.ReadFile(filepath.Join(root, "cem-hello.deb"))
	if err != nil {
		t.Fatal(err)
	}
	put("Packages", fmt.Sprintf("%sFilename: ./cem-hello.deb\nSize: %d\nSHA256: %x\n", control, len(deb), sha256.Sum256(deb)))
	put("simple/cemhello/index.html", `<a href="cemhello-1.0-py3-none-any.whl">cemhello-1.0-py3-none-any.whl</a>`)
	put("simple/cemhello/cemhello-1.0-py3-none-any.whl", wheel(t))
	l, err := net.Listen("tcp", bridge+":0")
	if err != nil {
		skipOrFail(t, "no listener on the bridge: %v", err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(root))}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

func wheel(t *testing.T) string {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range [][2]string{
		{"cemhello.py", "print('hello from a wheel')\n"},
		{"cemhello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: cemhello\nVersion: 1.0\n"},
		{"cemhello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"cemhello-1.0.dist-info/RECORD", "cemhello.py,,\ncemhello-1.0.dist-info/METADATA,,\ncemhello-1.0.dist-info/WHEEL,,\ncemhello-1.0.dist-info/RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// TestSandboxPackages: with the built-in config's options an agent installs packages and builds.
func TestSandboxPackages(t *testing.T) {
	t.Parallel()
	engine(t)
	if out, err := exec.Command("../../.ci/services/docker", "packages").CombinedOutput(); err != nil {
		skipOrFail(t, "no image with a package manager: %v %s", err, out)
	}
	address := sources(t)
	w := sandbox(t, box("cem-test/packages", `network="bridge", pool=2`, `mode="full", blacklist=["docker", "mount", "fdisk"]`))
	long := args{"timeout": 120, "env": args{"AT": address}}
	w.box(t, `echo "deb [trusted=yes] http://$AT ./" >/etc/apt/sources.list && apt-get update -q && apt-get install -qy cem-hello >/tmp/log 2>&1 || { tail -n 12 /tmp/log >&2; exit 1; }
cem-hello; stat -c %u /var/lib/cem-hello/state`, long).says(t, "stdout", "hello from a package\n65534\n").has(t, "exit_code", 0)
	w.box(t, `pip install -q --break-system-packages --index-url http://$AT/simple --trusted-host ${AT%:*} cemhello && python3 -c 'import cemhello'`, long).
		says(t, "stdout", "hello from a wheel\n").has(t, "exit_code", 0)
	id := w.box(t, "cat", args{"detach": true}).args["session_id"]
	w.boxFile(t, "write", "/src/Makefile", args{"session_id": id, "content": "all: out.gz\nout.gz: in\n\tgzip -c $< >$@\nin:\n\tseq 1000 >$@\n"})
	w.boxAct(t, id, "run", args{"command": "make -j4 && zcat out.gz | wc -l", "cwd": "/src", "timeout": 60}).says(t, "stdout", "1000\n").has(t, "exit_code", 0)
}
