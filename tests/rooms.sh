#!/usr/bin/env bash
# Includes go from a room to those before it (docs/architecture.md), and a header of another project is included by one file.
set -eu
cd "$(dirname "$0")/.."
grep -nE '^#include "[a-z]+/[a-z_]+\.(h|def)"' src/*/*.[ch] | awk -F'[:"/.]' '
    BEGIN {
        n = split("base external linalg solve fclib trajectory bodies robots model simulate plan program identify sweep report export", room, " ")
        for (i = 1; i <= n; i++) place[room[i]] = i
        # include/perp/NAME.h is of the room NAME, but these
        split("ranks external petsc solve lcp solve friction solve pile solve mcp solve solvers solve schemes model estimators identify batch simulate outline model shapes bodies joints bodies", of, " ")
        for (i = 1; i in of; i += 2) other[of[i]] = of[i + 1]
    }
    {
        from = $2; to = $7; name = $8
        if (to == "perp") to = name in other ? other[name] : name
        if (!(to in place) || !(from in place)) { print "FAILED: no room of docs/architecture.md: " $0; faults++ }
        else if (place[to] > place[from]) { print "FAILED: " $0; faults++ }
    }
    END { if (!faults) print "ok: " NR " includes"; exit faults > 0 }'
for header in klu.h IpStdCInterface.h Clp_C_Interface.h dmumps_c.h expat.h hdf5.h mpi.h petscsnes.h; do
    n=$(grep -l "include <.*$header>" src/*/*.[ch] src/external/plugins/*.[ch] cli/*.[ch] | wc -l)
    [ "$n" = 1 ] || { echo "FAILED: $header is included by $n files"; exit 1; }
done
