package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func describe(t *testing.T, cfg *Config) string {
	t.Helper()
	d := cfg.Describe()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return d.String() + string(data)
}

func TestDescribe(t *testing.T) {
	cfg := parse(t, `
def yes(x): return True
shell_tool("a", backend={"x": box("i", idle=-1, mounts=[mount("/a", "/b")], when=yes, init=True), "y": local(env={"API_KEY": "k-123456", "N": "1"})},
    groups={"g": ["x"]}, policy=policy(list="whitelist", rules=[env_rule(names=["LD_*"], decision="deny")]), hooks=[env_set({"CI": "1"})], params={"stdin": None})
`)
	text := describe(t, cfg)
	for _, want := range []string{
		`a (shell_tool, config.star:3:1)`, `x: box(idle=-1, image="i", init=True, mounts=[{"mount": {"source": "/a", "target": "/b"}}], when="a function")`,
		`"N": "1"`, `list: "whitelist"`, `env_set(vars={"CI": "1"})`, `g: x`, `"timeout":30`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "k-123456") {
		t.Errorf("a variable called API_KEY is shown:\n%s", text)
	}
}

// TestStubAndReference: both name every function with every argument, and every argument says what it means.
func TestStubAndReference(t *testing.T) {
	o := options()
	stub, page := Stub(o), Reference(o)
	for _, f := range language(o) {
		def, args, _ := strings.Cut(stub, "\ndef "+f.name+"(\n")
		if args == "" {
			def, args, _ = strings.Cut(stub, "\nclass "+f.name+":\n")
		}
		_, section, _ := strings.Cut(page, "\n### "+f.name+"\n")
		if args == "" || section == "" || def == "" {
			t.Errorf("%s is missing in the stub or the reference", f.name)
			continue
		}
		args, _, _ = strings.Cut(args, "\n\n\n")
		section, _, _ = strings.Cut(section, "\n#")
		if f.doc == "" {
			t.Errorf("%s has no doc", f.name)
		}
		for _, a := range fieldsOf(reflect.TypeOf(f.fresh()).Elem()) {
			if !strings.Contains(args, " "+a.name+": ") || !strings.Contains(section, "| `"+a.name+"` |") {
				t.Errorf("%s(%s=) is missing in the stub or the reference", f.name, a.name)
			}
			if a.doc == "" {
				t.Errorf("%s(%s=) has no doc", f.name, a.name)
			}
		}
	}
}
