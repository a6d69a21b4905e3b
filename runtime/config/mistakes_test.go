package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMistakes runs testdata/*.star. A file is a list of configs with --- lines between. Each mistake is announced in
// the line where it is: ### "COL: regexp", several with a space between.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := 1
		for _, chunk := range strings.Split(string(data), "\n---\n") {
			t.Run(filepath.Base(file)+":"+strconv.Itoa(line), func(t *testing.T) {
				// Empty lines in front keep the numbers of the file.
				checkChunk(t, strings.Repeat("\n", line-1)+chunk)
			})
			line += strings.Count(chunk, "\n") + 2
		}
	}
}

var quotedPattern = regexp.MustCompile("`[^`]*`")

func checkChunk(t *testing.T, src string) {
	want := map[int][]string{} // by line: "COL: regexp"
	total := 0
	for i, line := range strings.Split(src, "\n") {
		if _, after, ok := strings.Cut(line, "###"); ok {
			for _, q := range quotedPattern.FindAllString(after, -1) {
				want[i+1] = append(want[i+1], strings.Trim(q, "`"))
				total++
			}
		}
	}
	if total == 0 {
		t.Fatal("the chunk announces no mistake")
	}
	_, err := Parse("config.star", []byte(src), "testdata", options("TOKEN=hunter2hunter2"))
	list, _ := errors.AsType[Errors](err)
	if err != nil && list == nil {
		t.Fatalf("got a %T: %v", err, err)
	}
	for _, e := range list {
		got := strconv.Itoa(e.Col) + ": " + e.Msg
		if e.Fix != "" {
			got += ": " + e.Fix
		}
		found := false
		for i, pattern := range want[e.Line] {
			if ok, err := regexp.MatchString("^(?:"+pattern+")$", got); err != nil {
				t.Errorf("line %d: %v", e.Line, err)
			} else if ok {
				want[e.Line] = append(want[e.Line][:i:i], want[e.Line][i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("line %d: not announced: %s", e.Line, got)
		}
	}
	for line, patterns := range want {
		for _, p := range patterns {
			t.Errorf("line %d: did not come: %s", line, p)
		}
	}
}
