package difftest

// seedText holds texts of constructs whose reading is delicate; between them the rows of the rule set are covered. Each
// stands alone between lines of three dashes.
const seedText = `
echo a # note
rm_count=1
---
echo "${v:-'x'}" "${v:-"y"}" ${v#"z"} ${v/a/'b'} ${v//\"/x}
---
echo ${v:-a} ${v:=b} ${v:+c} ${v:?d} ${v%.c} ${v##*/} ${#v} ${!v} ${v^^} ${v:1:2} ${v[0]} ${v[@]} ${!v@}
---
v='rm b'; echo "$v" '$(rm b)' "\$(rm b)" \$\(rm b\)
---
cat <<END
$v ${v:-x} \$(rm b)
END
echo done
---
cat <<'END' | cat
$(rm b)
rm b
END
---
x=$(cat <<'END'
rm b
END
)
echo "$x"
---
cat <<-END
	a
	END
echo a
---
case $v in a|b) echo x;; (c) echo y;; *) echo 'rm b';; esac
---
[[ $v == a* && -n "$v" || $v =~ ^[a-z]+$ ]] && echo rm
---
[[ $v == @(a|b) ]] && echo ok
---
((i = 1 + 2)); echo $((i * 3)) $[1+1]; let i++
---
a=(1 2 3); a[1]=x; echo "${a[1]}" "${a[@]:1:2}" ${#a[@]}
---
declare -A m; m[k]='rm b'; echo "${m[k]}"
---
declare -i n=1; declare -a q; local_x=1; export Z=1; readonly Y=2
---
f() { echo "$1"; }; f 'rm b'
---
function g { echo rm; }; g
---
for v in rm b c; do echo "$v"; done
---
for ((i=0; i<2; i++)); do echo $i; done
---
while read -r l; do echo "$l"; break; done < a
---
until true; do echo rm; done
---
if [ -f a ]; then echo 'rm b'; elif true; then :; else echo x; fi
---
select v in a b; do break; done < /dev/null
---
{ echo a; } 2>&1 | cat; (echo b; echo rm)
---
echo <(echo rm) >(cat) > /dev/null
---
diff <(echo 'rm b') <(echo x)
---
exec 3>c; echo x >&3; exec 3>&-; cat <&0
---
echo hi >& c; echo x &> c; echo y >| c; cat <> c
---
time -p echo a; time echo rm; ! true
---
env -i PATH=/bin echo rm b
---
env A=1 -u B nice -n 5 nohup timeout 3 echo rm b
---
nice -5 echo rm; nice --adjustment=3 echo rm; timeout -s KILL 3 echo rm b; timeout -k 1 3 echo rm
---
stdbuf -oL echo rm b; setsid -w echo rm; ionice -c 3 echo rm; chrt -o 0 echo rm; taskset 1 echo rm
---
echo a b | xargs -n1 echo rm; echo b | xargs -I{} echo {} rm; echo b | xargs -r -0 echo rm
---
find . -name rm -o -name 'b*' -exec echo rm {} \; -exec echo {} +
---
busybox echo rm b; command echo rm; builtin echo rm; exec echo rm b
---
sh -c 'echo rm "$1"' _ rm; bash -c "echo $v rm"; sh -ec 'echo rm'
---
eval 'echo rm'; eval "echo $v rm"; eval echo rm b
---
trap 'echo rm' EXIT; trap - INT; trap 'echo b' 0
---
bash <<'END'
echo rm b
END
---
sh <<< 'echo rm b'; bash -s x <<< 'echo rm'
---
. ./a; source ./b; source <(ssh-agent -s)
---
x=echo; $x rm b; y=./a; "$y" rm; ${x} rm; "$x" rm
---
echo rm b | cat; echo rm | tee c; printf '%s\n' rm b
---
read v <<< 'rm b'; echo "$v"; read -r a b <<END
rm b
END
---
printf -v v '%s' 'rm b'; echo "$v"; mapfile -t q < a; readarray q < b
---
v=1; test -v v; [ -v v ]; [[ -v v ]]; unset v; unset 'q[0]'
---
set -- rm b; echo "$@" "$1" $#; set -x; set +x; shift
---
PS4='+ '; set -x; echo rm
---
IFS=,; v=rm,b; echo $v; IFS= read -r l < a
---
PAGER=cat MANPAGER='cat -s' env echo rm
---
sed -n 's/rm/del/p;1p' a; sed -e 's/a/b/' -e '/x/d' a; sed '1i\
rm b' a
---
awk 'BEGIN { print "rm b" > "/dev/null"; x = "rm"; print x }' a
---
awk '{ print $1 | "cat" }' a; awk 'BEGIN { system("echo rm") }'; awk 'BEGIN { "echo rm" | getline x }'
---
tar cf c a b; tar -c -f c --exclude=rm a; tar xf c --to-command='cat' 2>/dev/null
---
sort -k1 a; sort --compress-program=cat a; split -l 1 --filter='cat' a
---
git -c user.name=rm -c alias.x=log version; git config --file c alias.y 'log rm'
---
git -c core.pager=cat --no-pager version; git -c alias.z='!echo rm' z
---
flock c echo rm b; flock c -c 'echo rm'; script -qc 'echo rm' /dev/null
---
unshare -U echo rm; setpriv --no-new-privs echo rm; prlimit --cpu=1 echo rm; choom -n 0 echo rm
---
echo {a,b}rm {1..3} r{m,n} {rm,b} ; e{cho,} rm
---
~/a; ./a rm; ../w/a; /bin/echo rm; "/bin/ec"ho rm; 'echo' rm; ec\ho rm
---
hash -r; type rm; which rm; command -v rm; enable; shopt -s nullglob
---
echo $(echo rm) "$(echo "rm $(echo b)")" ` + "`echo rm`" + ` "` + "`echo \\\\`echo rm\\\\``" + `"
---
echo $'rm\n' $'\x72m' $"rm" r''m "r"m
---
v=$(echo 'rm b'); echo "$v" ${v} "${v@Q}"
---
wait; jobs; kill -0 $$; umask; ulimit -n; times; getopts ab v -a
---
compgen -A function; complete -p; bind -l; history; fc -l; dirs
---
alias; unalias -a; declare -f; declare -p v; typeset x=1
---
cd . && echo rm; pushd . > /dev/null; popd > /dev/null
---
echo a &
wait
echo rm
---
exec < a
cat
---
exec <<'END'
echo rm
END
sh
---
echo a \
  rm b
---
v="a
rm b"; echo "$v"
---
a=b c=d env; a=rm echo b; x=$v y="$x" echo rm
---
coproc_x=1; echo coproc; echo 'coproc rm'
---
test "$v" = rm && echo b; [ "$v" = rm ] || echo b; test -n "$v" -a -z "$x"
---
echo "$(( 1 + $(echo 2) ))" "$((a[0]))"
---
sh ./a; bash -x ./b; bash --norc ./a; sh -s < a; bash < /dev/null
---
printf 'rm\n' | while read -r c; do echo "$c"; done
---
xargs echo rm < a; xargs -a a echo rm; xargs sh -c 'echo "$@"' _ < a
`
