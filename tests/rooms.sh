#!/usr/bin/env bash
# Includes go from a room to those before it (docs/architecture.md), and a header of another project is included by one file.
set -eu
cd "$(dirname "$0")/.."
grep -nE '^#include "[a-z]+/[a-z_]+\.(h|def)"' src/*/*.[ch] | awk -F'[:"/.]' '
    BEGIN {
        n = split("base external linalg solve fclib trajectory bodies robots model simulate plan program identify sweep report export", room, " ")
        for (i = 1; i <= n; i++) place[room[i]] = i
        # include/perp/NAME.h is of the room NAME, but these
        split("ranks external petsc solve lcp solve friction solve pile solve mcp solve solvers solve schemes model estimators identify batch simulate outline model shapes bodies joints bodies bodies_batch bodies", of, " ")
        for (i = 1; i in of; i += 2) other[of[i]] = of[i + 1]
    }
    {
        from = $2; to = $7; name = $8
        if (to == "perp") to = name in other ? other[name] : name
        if (!(to in place) || !(from in place)) { print "FAILED: no room of docs/architecture.md: " $0; faults++ }
        else if (place[to] > place[from]) { print "FAILED: " $0; faults++ }
    }
    END { if (!faults) print "ok: " NR " includes"; exit faults > 0 }'
# Files and libraries are opened by the gate (base/input.c, base/output.c, external/library.c) alone; the compiler's process has its own files.
opens='\b(f?open|openat|fdopen|freopen|creat|mkstemp|dlopen|popen|h5\.(open_file|create_file))\('
found=$(grep -nE "$opens" src/*/*.[ch] src/export/fmu/*.[ch] src/external/plugins/*.[ch] cli/*.[ch] |
    grep -vE '^src/(base/(input|output)\.c|external/library\.c):|^cli/main\.c:.*"/dev/null"|^src/external/hdf5\.c:.*(file->name|h5\.open\(\))|^[^:]*:[0-9]*: *(/\*|\*)' || true)
[ -z "$found" ] || { echo "FAILED: opened beside the gate: $found"; exit 1; }
found=$(grep -nE '^#include "' cli/*.[ch] | grep -E '"[a-z]+/' | grep -vE '"(perp|base|cjson)/' || true)
[ -z "$found" ] || { echo "FAILED: the command knows public headers and base: $found"; exit 1; }
for header in IpStdCInterface.h Clp_C_Interface.h dmumps_c.h expat.h hdf5.h mpi.h petscsnes.h; do
    n=$(grep -l "include <.*$header>" src/*/*.[ch] src/external/plugins/*.[ch] cli/*.[ch] | wc -l)
    [ "$n" = 1 ] || { echo "FAILED: $header is included by $n files"; exit 1; }
done
# No name means two things: all internal headers in one translation unit. Those that are included for their text are left out.
(cd src && ls */*.h export/fmu/*.h) | grep -vE '(_kernel|every_isa)\.h$' | sed 's/.*/#include "&"/' |
    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc -xc - ||
    { echo "FAILED: two headers of src/ cannot be included together"; exit 1; }
