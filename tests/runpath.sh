#!/bin/sh
# FOLDER: no ELF file below it, other build trees apart, has an element in RUNPATH or RPATH that is empty or relative ($ORIGIN is neither):
# the loader would take libraries from the working directory.
set -eu
command -v readelf >/dev/null || { echo "skipped: readelf is not installed (Debian: binutils)"; exit 0; }
find "$1" -mindepth 1 -type d -exec test -e '{}/CMakeCache.txt' ';' -prune -o -type f \( -perm -100 -o -name '*.so*' \) -print0 |
    xargs -0 readelf -d 2>/dev/null | awk '
    /^File: / { file = substr($0, 7) }
    /^Dynamic section/ { n++ }
    /\((RUNPATH|RPATH)\)/ {
        list = $0
        sub(/.*path: \[/, "", list)
        sub(/\]$/, "", list)
        if (split(list, element, ":") == 0) element[split(":", element)] = ""
        for (i in element) if (element[i] !~ /^(\/|\$ORIGIN(\/|$))/) { print "FAILED: " file ": [" list "]"; faults++; break }
    }
    END { if (!n) print "FAILED: no ELF file"; else if (!faults) print "ok: " n " ELF files" }'
