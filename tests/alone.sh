#!/usr/bin/env bash
# The verdicts of the command without its optional libraries (MUMPS, IPOPT, Clp, expat, HDF5) beside those with them: exit code and
# outcome of every example, of the models in the documents and of the findings. tests/data/alone.tsv lists the differences: FILE, COMMAND,
# verdict with, verdict without, reason. A difference that is not listed fails the test, and so does a listed one that is gone: the list only
# shrinks. A row whose verdict without is "long" is not run: it takes more than a minute without the library.
#
#   tests/alone.sh PERP LIBRARY... [--update] [--all]
#
#   LIBRARY    file names, as libClp.so.1; an empty file of this name in LD_LIBRARY_PATH keeps the library from being loaded
#   --update   write the list; reasons are kept, new rows get "?"
#   --all      run the "long" rows too, for up to LIMIT seconds each (environment; default 60): it depends on the machine
set -eu
perp=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
list=tests/data/alone.tsv update='' all='' libraries=()
for argument; do
    case $argument in --update) update=1 ;; --all) all=1 ;; *) libraries+=("$argument") ;; esac
done
[ ${#libraries[@]} -gt 0 ] || { echo 'skipped: the command was built without optional libraries'; exit; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/none" "$scratch/docs" "$scratch/rows"
for library in "${libraries[@]}"; do : >"$scratch/none/$library"; done
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 perp scratch

# Models of a document, a file each: docs/start.md:2 is its second.
blocks() {
    awk -v to="$scratch/docs/$(basename "$1")" '
        /^```perp$/ { file = to ":" ++n ".perp"; next }
        /^```/ { file = ""; next }
        file { print >file }' "$1"
}
for document in docs/*.md; do blocks "$document"; done

# NAME tab FILE tab ARGUMENTS of the command: every command that a file has a statement for.
jobs() {
    local file name
    for file in examples/*/*.perp "$scratch"/docs/*.perp ../shared/findings/*.perp ../shared/findings/*/*.perp ../shared/findings/*/*/*.perp; do
        [ -e "$file" ] || continue
        name=${file#"$scratch"/} name=${name#../shared/}
        case $name in docs/*) name=${name%.perp} ;; esac
        for command in simulate plan; do
            ! grep -qE "^ *$command\b" "$file" || printf '%s\t%s\t%s\n' "$name" "$file" "$command"
        done
    done
    for file in examples/robots/*.xml examples/robots/*.urdf ../shared/findings/*/*.xml; do
        [[ ! -e $file || $file == *DANGER* ]] || printf '%s\t%s\tsimulate\n' "${file#../shared/}" "$file"
    done
    for file in examples/programs/*.nl tests/data/nl/*.nl ../shared/findings/*.json ../shared/findings/*/*.json; do
        [ ! -e "$file" ] || printf '%s\t%s\tsolve\n' "${file#../shared/}" "$file"
    done
    printf '%s\t%s\tidentify\n' examples/identify/block.perp 'examples/identify/block.perp examples/identify/block.csv'
}

# "0 verified", "0 3 solved, 1 ray", "2" where nothing was run.
verdict() { # FILES COMMAND [ENVIRONMENT]
    local code=0 out=$scratch/$BASHPID.out
    # shellcheck disable=SC2086
    (ulimit -v 16000000; timeout -k 5 "$limit" nice env ${3:-PERP=1} "$perp" "$2" $1 --json) >"$out" 2>/dev/null </dev/null || code=$?
    case $code in 124 | 137) echo long; return ;; esac
    sed -nE 's/^\t{1,2}"outcome":\t"([^"]*)".*/\1/p' "$out" | sort | uniq -c |
        awk -v code=$code '{ n = $1; sub(/^ *[0-9]+ /, ""); s = s (s ? ", " : " ") (n > 1 ? n " " : "") $0 } END { print code s }'
}

# Did that run ask the loader for one of the libraries? Yes also where the loader keeps no record (glibc does).
asked() { # RECORD
    local record=$(cat "$1".* 2>/dev/null)
    [[ $record == *libc.so* ]] || return 0
    grep -qF "$names" <<<"$record"
}

# A run that asks for none of the libraries is the same without them.
both() {
    local name file command with without record=$scratch/loaded.$$
    IFS=$'\t' read -r name file command <<<"$1"
    with=$(verdict "$file" "$command" "LD_DEBUG=files LD_DEBUG_OUTPUT=$record") without=$with
    ! asked "$record" || without=$(verdict "$file" "$command" "LD_LIBRARY_PATH=$scratch/none")
    rm -f "$record".*
    printf '%s\t%s\t%s\t%s\n' "$name" "$command" "$with" "$without" >>"$scratch/rows/$$"
}
names=$(printf '%s\n' "${libraries[@]}")
export names
export -f verdict asked both
export limit=${LIMIT:-60}
[ -n "$all" ] || limit=2000

# The empty files do hide the libraries.
case " ${libraries[*]} " in
*libexpat*)
    [ "$(verdict examples/robots/arm.xml simulate)" = '0 verified' ] || { echo 'FAILED: examples/robots/arm.xml is not verified'; exit 1; }
    [ "$(verdict examples/robots/arm.xml simulate "LD_LIBRARY_PATH=$scratch/none")" != '0 verified' ] || { echo 'FAILED: the libraries are found in spite of empty files'; exit 1; }
    ;;
esac

jobs | awk -F '\t' -v all="$all" '
    FNR == NR { if ($4 == "long") long[$1 FS $2] = 1; next }
    all || !(($1 FS $3) in long)' "$list" - | tr '\n' '\0' | xargs -0 -P 2 -n 1 bash -c 'both "$1"' both
cat "$scratch"/rows/* | LC_ALL=C sort >"$scratch/now"

if [ -n "$update" ]; then
    awk -F '\t' -v OFS='\t' '
        FNR == NR { if (/^#/) print; else if ($4 == "long") keep[$1 FS $2] = $0; reason[$1 FS $2] = $5; next }
        $3 != $4 { print $0, (($1 FS $2) in reason) ? reason[$1 FS $2] : "?" }
        { delete keep[$1 FS $2] }
        END { for (key in keep) print keep[key] }' "$list" "$scratch/now" | LC_ALL=C sort >"$scratch/list"
    cp "$scratch/list" "$list"
    exit
fi
has_findings=$([ -e ../shared/findings ] && echo 1 || echo 0)
[ "$has_findings" = 1 ] || echo 'the findings are skipped: ../shared/findings is not there'
awk -F '\t' -v has_findings="$has_findings" -v all="$all" -v few="$([ ${#libraries[@]} -lt 6 ] && echo 1 || echo 0)" '
    FNR == NR { if (!/^#/) { listed[$1 FS $2] = $4; n++ } next }
    { runs++ }
    $3 == $4 { next }
    !(($1 FS $2) in listed) { print "FAILED: " $1 " " $2 ": " $3 " with the libraries, " $4 " without"; faults++; next }
    listed[$1 FS $2] != $4 { print "FAILED: " $1 " " $2 ": " $4 " without the libraries, the list says " listed[$1 FS $2]; faults++ }
    { seen[$1 FS $2] = 1 }
    END {
        for (key in listed) {
            split(key, k, FS)
            if (key in seen || (listed[key] == "long" && !all) || few || (k[1] ~ /^findings/ && !has_findings)) continue
            print "FAILED: " k[1] " " k[2] ": the difference is gone; take the row out of tests/data/alone.tsv (or --update)"; faults++
        }
        if (!faults) print "ok: " runs " verdicts, " n " differ and are listed"
        exit faults > 0
    }' "$list" "$scratch/now"
