#!/usr/bin/env bash
# describe.sh PERP: completion and manual pages know every command and option that --help knows, and the shells that are here take them.
set -eu
perp=$(realpath "$1")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
for shell in bash zsh fish; do
    "$perp" completion $shell >"$work/$shell"
    ! command -v $shell >/dev/null || $shell -n "$work/$shell" || fail "$shell does not read its completion"
done
"$perp" man >"$work/perp.1"
commands=$("$perp" --help | sed -nE 's/^  ([a-z]+) +.*/\1/p' | grep -vx perp)
n=0
for c in $commands; do
    "$perp" man "$c" >"$work/perp-$c.1"
    grep -qx "\.B $c" "$work/perp.1" || fail "perp.1 does not name $c"
    for option in $("$perp" "$c" --help | sed -nE 's/^  (--?[a-z-]+) .*/\1/p'); do
        n=$((n + 1))
        [ "$option" = --help ] || grep -qE "^\.B ${option//-/\\\\-}( |\\\\fR)" "$work/perp-$c.1" || fail "perp-$c.1: $option is not there"
        grep -qE "'$c -'\*\).*[' ]$option[ ']" "$work/bash" || fail "bash: perp $c $option is not completed"
        grep -A40 "^    $c)" "$work/zsh" | grep -q -- "'\*\?$option\[" || fail "zsh: perp $c $option is not completed"
        [ "$option" = --help ] || grep -qE "seen_subcommand_from $c' -[ls] ${option##*--}|from $c' -s ${option#-} " "$work/fish" ||
            fail "fish: perp $c $option is not completed"
    done
done
[ $n -gt 60 ] || fail "only $n options were looked at"
for page in "$work"/*.1; do # what the formatter warns of is a mistake
    ! command -v groff >/dev/null || [ -z "$(groff -man -Tutf8 -ww -z "$page" 2>&1)" ] || fail "$(groff -man -Tutf8 -ww -z "$page" 2>&1)"
done
# What bash offers.
. "$work/bash"
compopt() { :; } # only within a completion
offers() { # WORDS...: the last one is being written
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _perp
    echo "${COMPREPLY[*]-}"
}
[ "$(offers perp si)" = simulate ] || fail "perp si: $(offers perp si)"
[ "$(offers perp simulate --the)" = --theta ] || fail "perp simulate --the: $(offers perp simulate --the)"
[ "$(offers perp simulate --method b)" = backward-euler ] || fail "perp simulate --method b"
[ "$(offers perp plan x.perp --method radau)" = "radau3 radau5 radau7" ] || fail "perp plan --method radau"
[ -z "$(offers perp simulate --to 1)" ] || fail "a number is completed"
[ -z "$(offers perp simulate examp)" ] || fail "files are left to bash"
[ "$(offers perp completion z)" = zsh ] || fail "perp completion z"
echo "ok: $n options of $(echo "$commands" | wc -w) commands"
