#!/usr/bin/env bash
# What the command prints and writes for the examples, against tests/data/golden.txt: each block begins with its command line, "$ perp ...";
# OUT there is a table, of which six rows and eight columns are kept. Words must be the same, numbers the same to 1e-6; what
# differs from machine to machine (times, rounding errors, how many iterations) is not kept.
#
#   tests/golden.sh PERP [--update]      --update: write what is printed now; read the difference before it is committed
set -eu
perp=$(realpath "$1")
cd "$(dirname "$0")/.."
golden=tests/data/golden.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

# Header and six rows, evenly spread, of the first eight columns.
rows() {
    grep -v '^#' "$1" | cut -d, -f1-8 | awk -F, '
        { line[NR - 1] = $0 }
        END {
            print line[0]
            for (k = 0; k <= 5; k++) {
                n = split(line[1 + int(k * (NR - 2) / 5)], x, ",")
                for (i = 1; i <= n; i++) printf "%.9g%s", x[i], i < n ? "," : "\n"
            }
        }'
}

while IFS= read -r line; do
    echo "$line"
    out=$scratch/out.csv code=0
    rm -f "$out"
    arguments=${line#'$ perp '}
    # shellcheck disable=SC2086
    "$perp" ${arguments//OUT/$out} >"$scratch/printed" 2>&1 </dev/null || code=$?
    sed -E "s|$scratch/||g; s/[0-9.]+ us a step//; s/ \(step [0-9]+\)//g; s/[0-9]+ iterations?, (.*), [0-9.e-]+ s\$/\1/
        s/^(error at the end:).*/\1/; s/ in [0-9.]+ s$//; s/(stationarity|differs by at most) .*/\1/; s/ +\$//" "$scratch/printed"
    [ $code -eq 0 ] || echo "exit code $code"
    [ ! -f "$out" ] || rows "$out"
done < <(grep '^\$ perp ' "$golden") >"$scratch/now"

if [ "${2:-}" = --update ]; then
    cp "$scratch/now" "$golden"
    exit
fi
awk '
    # Words are the same, numbers to 1e-6 of the larger and 1e-8.
    function same(a, b, d, m) {
        if (a == b) return 1
        if (a !~ number || b !~ number) return 0
        d = a - b; m = a < 0 ? -a : a + 0; if (b > m) m = b; if (-b > m) m = -b
        return (d < 0 ? -d : d) <= 1e-6 * m + 1e-8
    }
    BEGIN { number = "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[-+]?[0-9]+)?$" }
    FNR == NR { line[FNR] = $0; kept = FNR; next }
    /^\$ / { command = $0; commands++ }
    {
        n = split(line[FNR], a, /[ ,;:()]+/); m = split($0, b, /[ ,;:()]+/)
        wrong = n != m
        for (i = 1; i <= n && !wrong; i++) wrong = !same(a[i], b[i])
        if (wrong && shown++ < 10) printf "%s\n  expected: %s\n  found:    %s\n", command, line[FNR], $0
    }
    END {
        if (FNR != kept) print "lines: " kept " expected, " FNR " found"
        else if (!shown) print "ok: " commands " commands print and write what is kept"
        exit shown > 0 || FNR != kept
    }' "$golden" "$scratch/now"
