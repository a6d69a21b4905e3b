package stream

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/transform"

	"cmd-exec-mcp/runtime/job"
)

// codePages are names that Windows programs use and neither index knows.
var codePages = map[string]string{
	"cp932": "shift_jis", "cp936": "gbk", "cp949": "euc-kr", "cp950": "big5", "cp65001": "utf-8", "cp54936": "gb18030",
	"cp437": "IBM437", "cp850": "IBM850", "cp852": "IBM852", "cp855": "IBM855", "cp858": "IBM00858", "cp860": "IBM860",
	"cp862": "IBM862", "cp863": "IBM863", "cp865": "IBM865", "cp866": "IBM866",
}

// common are names to suggest: the indexes cannot be listed.
var common = []string{
	"utf-8", "utf-16le", "utf-16be", "gbk", "gb18030", "gb2312", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr",
	"windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255", "windows-1256",
	"windows-1257", "windows-1258", "windows-874", "iso-8859-1", "iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-15",
	"koi8-r", "koi8-u", "macintosh", "ibm866", "latin1", "ascii",
}

// Decoder turns output in another encoding into UTF-8, whatever the borders between the writes. What cannot be decoded
// becomes U+FFFD. It serves one stream and one goroutine.
type Decoder struct {
	t    transform.Transformer // nil: UTF-8, nothing to do
	rest []byte
	out  []byte
}

// NewDecoder finds an encoding by its IANA or WHATWG name, in any case, or by its Windows code page (cp936). An
// unknown name is Invalid.
func NewDecoder(name string) (*Decoder, error) {
	label := strings.ToLower(strings.TrimSpace(name))
	if page, ok := codePages[label]; ok {
		label = page
	}
	switch label {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return &Decoder{}, nil
	}
	enc, err := htmlindex.Get(label)
	if err != nil || enc == encoding.Replacement {
		enc, err = ianaindex.IANA.Encoding(label)
	}
	if err != nil || enc == nil {
		return nil, job.Errorf(job.Invalid, "unknown encoding %.64q", name).
			WithHint("use one like %s", strings.Join(nearest(label, append(slices.Sorted(maps.Keys(codePages)), common...), 4), ", "))
	}
	return &Decoder{t: enc.NewDecoder()}, nil
}

// Write returns what p completes. The result is valid until the next call and may be p.
func (d *Decoder) Write(p []byte) []byte {
	if d.t == nil {
		return p
	}
	return d.decode(p, false)
}

// Flush returns what an incomplete character at the end stands for. Nothing may be written after it.
func (d *Decoder) Flush() []byte {
	if d.t == nil {
		return nil
	}
	return d.decode(nil, true)
}

func (d *Decoder) decode(p []byte, end bool) []byte {
	d.rest = append(d.rest, p...)
	d.out = slices.Grow(d.out[:0], 2*len(d.rest)+64)
	src := d.rest
	for {
		dst := d.out[len(d.out):cap(d.out)]
		n, used, err := d.t.Transform(dst, src, end)
		d.out = d.out[:len(d.out)+n]
		src = src[used:]
		if err != transform.ErrShortDst {
			break
		}
		d.out = slices.Grow(d.out, len(src)+64)
	}
	d.rest = append(d.rest[:0], src...)
	return d.out
}

// nearest returns the n names that take the fewest edits to become name, of which the beginning is enough.
func nearest(name string, names []string, n int) []string {
	names, name = slices.Clone(names), name[:min(len(name), 64)]
	slices.SortStableFunc(names, func(a, b string) int { return job.Edits(name, a) - job.Edits(name, b) })
	return names[:min(n, len(names))]
}
