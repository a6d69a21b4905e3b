package difftest

import (
	"math/rand/v2"
	"strings"
)

// pieces are what the mutations insert: the tokens that decide how a shell reads a text.
var pieces = strings.Split(strings.TrimSuffix(pieceText, "\n"), "\n")

const pieceText = `rm b
rm
b
$(rm b)
${v:-
}
"
'
` + "`" + `
\
;
&
&&
||
|
|&
(
)
{
}
((
))
[[
]]
[
]
$(
$((
$
${
<(
>(
<
>
>>
<<
<<-
<<<
<&
>&
&>
>|
<>
<&-
#
 # x
!
~
*
?
=
-
--
+
:
,
.
/
%
@
-c
-s
-n
-i
-I
{}
{,}
{a,b}
{$,}
v=
v=rm
x='rm b'
x=-c
$x
"$x"
$v
"$v"
${x}
${!x}
${x@P}
${x:-$v}
$1
"$@"
$*
$-
$_
$0
env
nice
nohup
timeout 1
xargs
sh
sh -c
bash
bash -c
dash
eval
exec
command
builtin
source
.
trap
time
time -p
coproc
function f
f()
f() {
; f
if
then
fi
while
do
done
for v in
case x in
esac
select v in
until
else
in
let
declare
declare -a
declare -i
local
export
readonly
unset
read v
read
printf -v v
mapfile
set --
set -x
PS4=
IFS=
PATH=
alias
shopt -s expand_aliases
shopt -s extglob
@(
!(
-eq
==
=~
-v
a[
a[$(rm b)]
'a[$(rm b)]'
'$(rm b)'
$'\x72m'
$"rm"
\$(rm b)
END
<<END
<<'END'
<<-END
2>&1
>/dev/null
< /dev/null
0<
3<
12>
{fd}>
echo
cat
true
find . -exec
-exec
\;
sed
awk
tar
sort
git
git -c
`

// mutate makes a text out of one or two seeds.
func mutate(rng *rand.Rand, seeds []string) string {
	text := seeds[rng.IntN(len(seeds))]
	if rng.IntN(4) == 0 {
		text = splice(rng, text, seeds[rng.IntN(len(seeds))])
	}
	for range 1 + rng.IntN(4) {
		text = once(rng, text)
	}
	if len(text) > 600 {
		text = text[:600]
	}
	return text
}

func once(rng *rand.Rand, text string) string {
	i := rng.IntN(len(text) + 1)
	j := min(len(text), i+1+rng.IntN(4))
	switch rng.IntN(10) {
	case 0: // drop
		return text[:i] + text[j:]
	case 1: // double
		return text[:j] + text[i:]
	case 2: // blank or line end
		return text[:i] + []string{" ", "\n", "\t", "\\\n", "", ""}[rng.IntN(6)] + text[i:]
	case 3: // swap two pieces
		k := rng.IntN(len(text) + 1)
		a, b := min(i, k), max(i, k)
		return text[:a] + text[b:] + text[a:b]
	case 4: // wrap
		open, end, _ := strings.Cut([]string{`"|"`, `'|'`, "$(|)", "`|`", "(|)", "{ |; }", `"${v:-|}"`, "${v:-|}", "$((|))", "[[ | ]]", "<(|)", `eval '|'`, `sh -c '|'`, `bash -c "|"`, `x="|"`, "f() { |; }", "if |; then :; fi", "cat <<END\n|\nEND\n", "((|))"}[rng.IntN(19)], "|")
		k := rng.IntN(len(text) + 1)
		a, b := min(i, k), max(i, k)
		return text[:a] + open + text[a:b] + end + text[b:]
	case 5, 6, 7: // insert a piece
		p := pieces[rng.IntN(len(pieces))]
		switch rng.IntN(3) {
		case 0:
			p = " " + p + " "
		case 1:
			p += " "
		}
		return text[:i] + p + text[i:]
	case 8: // replace by a piece
		return text[:i] + pieces[rng.IntN(len(pieces))] + text[j:]
	default: // a word boundary is more likely to matter than any place
		words := strings.Fields(text)
		if len(words) == 0 {
			return text
		}
		k := rng.IntN(len(words))
		words[k] = pieces[rng.IntN(len(pieces))]
		return strings.Join(words, " ")
	}
}

func splice(rng *rand.Rand, a, b string) string {
	i, j := rng.IntN(len(a)+1), rng.IntN(len(b)+1)
	if rng.IntN(2) == 0 {
		return a + []string{"; ", "\n", " | ", " && ", " "}[rng.IntN(5)] + b
	}
	return a[:i] + b[j:]
}
