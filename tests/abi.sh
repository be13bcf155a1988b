#!/usr/bin/env bash
# The binary interface of include/perp beside the kept one, tests/data/perp.abi, by abidiff: what a program that is not compiled anew would
# notice. Functions get empty bodies, so that nothing else of the library is looked at. --update keeps today's.
set -eu
cd "$(dirname "$0")/.."
kept=tests/data/perp.abi

for tool in abidw abidiff; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed (Debian: abigail-tools)"; exit 0; }
done
case $(uname -sm) in Linux\ x86_64) ;; *) echo "skipped: the kept interface is that of Linux on x86-64"; exit 0 ;; esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo '#include "perp/perp.h"' | ${CC:-cc} -E -P -Iinclude - |
    awk 'BEGIN { RS = ";"; ORS = "" }
         { print $0 (/visibility\("default"\)/ ? " { __builtin_trap(); }\n" : ";") }' | sed '$s/;$//' >"$scratch/perp.c"
${CC:-cc} -g -w -shared -fPIC -fvisibility=hidden -o "$scratch/libperp.so" "$scratch/perp.c"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names --type-id-style hash \
    --out-file "$scratch/perp.abi" "$scratch/libperp.so"
sed -i "s|path='[^']*/perp.c'|path='perp.c'|" "$scratch/perp.abi"
if [ "${1:-}" = --update ]; then
    cp "$scratch/perp.abi" $kept
    echo "ok: $(grep -c '<function-decl' $kept) functions are kept"
elif abidiff "$kept" "$scratch/perp.abi" >"$scratch/difference"; then
    echo "ok: $(grep -c '<function-decl' $kept) functions as they were"
else
    cat "$scratch/difference"
    echo "FAILED: if this only adds, tests/abi.sh --update; if programs have to be compiled anew, CHANGELOG.md and docs/migration.md say so, too"
    exit 1
fi
