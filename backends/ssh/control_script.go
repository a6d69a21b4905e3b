package ssh

import "cmd-exec-mcp/runtime/shell"

// The control shell. One for each connection looks after all commands that were started over it: it takes signals and
// kills, one line each, and when its input ends, because the connection was closed, was cut, or we died, it kills
// everything that carries the connection's marker. Closing a channel, or a signal by the protocol, reaches nothing of this.
//
// cem_of finds the processes of a marker ($1, a pattern) and of the sessions they lead ($2, one that is known): those are
// found by what /proc says of each process, with two greps, since a loop over all of them takes twenty times as long. A
// session is trusted if its leader carries the marker or is gone: where a server makes no session for a command, the
// leader is the server.
const controlHelpers = `cem_of(){ l=;for f in $(grep -lsz "^CMDEXEC_ID=$1" /proc/[0-9]*/environ);do f="${f%/environ}";l="$l ${f#/proc/}";done
m="$l";z="$2"
for q in $l;do x=;read -r x <"/proc/$q/stat"||continue;set -- ${x##*) };[ "$4" -gt 1 ]||continue
case " $z " in *" $4 "*)continue;;esac
case " $l " in *" $4 "*)z="$z $4";;*)[ -d "/proc/$4" ]||z="$z $4";;esac;done
for q in $z;do for f in $(grep -ls ") [^ZX] [0-9]* [0-9-]* $q " /proc/[0-9]*/stat);do f="${f%/stat}";f="${f#/proc/}"
case " $m " in *" $f "*);;*)m="$m $f";;esac;done;done;}
cem_kill(){ n=0;g=0;while [ $n -lt 25 ]&&[ $g -lt 2 ];do cem_of "$1" "$2"
if [ "$m" ];then g=0;kill -9 $m;[ $n -lt 2 ]||sleep 0.02||sleep 1;else g=$((g+1));fi;n=$((n+1));done;}
cem_signal(){ [ -z "$3" ]||kill "-$1" "-$3";cem_of "$2$" "$3"
for q in $m;do x=;read -r x <"/proc/$q/stat"||continue;set -- "$1" "$2" "$3" ${x##*) };[ "$6" = "$3" ]||kill "-$1" "$q";done;}
cem_loop(){ while read -r v n i p s;do [ "$p" = - ]&&p=
case "$v" in k)[ -z "$p" ]||kill -9 "-$p";a=$n;cem_kill "$i$" "$p";n=$a;;s)a=$n;cem_signal "$s" "$i" "$p";n=$a;m=;;a)a=$n;cem_kill "$i";n=$a;;esac
printf '\036%s+%s%s\036' "$e" "$n" "$m";done;}
`

// controlText is what a control shell runs: it says what the host is like, and then serves. own is the pattern of all
// markers of the connection.
func (d dialog) controlText(own string) string {
	return d.word + "\n" + plain + "exec 2>/dev/null\ntrap '' INT TERM HUP PIPE\n" + controlHelpers +
		`x=;[ -r /proc/$$/environ ]&&command -v grep >/dev/null&&read -r x <"/proc/$$/stat";w=;[ -z "$x" ]||{ set -- ${x##*) };w=n;[ "$4" = $$ ]&&w=y;}
printf '\036%s~%s\n%s\n%s\n%s\n%s\n%s\036' "$e" "$(uname -sr)" "$(command -v bash)" "$(command -v sh)" "$(command -v dash)" "$w" "$PWD"
cem_loop
cem_kill ` + shell.Quote(own) + `
exit 0
` + d.word + "\n"
}
