#!/usr/bin/env bash
# Every allocation of the library is counted (src/base/memory.h): no object file calls those of the
# C library but memory.c, and output.c, which copies what realpath gives.
#
#   tests/memory.sh LIBRARY      libperp.a
set -eu
command -v nm >/dev/null || { echo 'skipped: there is no nm'; exit; }
found=$(nm -A "$1" 2>/dev/null | sed -nE 's/^[^:]*:([^:]*):.* U (malloc|calloc|realloc|free|strn?dup|realpath|__realpath_chk|getline|getdelim|open_memstream|v?asprintf)$/\1 \2/p' | LC_ALL=C sort)
expected='memory.c.o calloc
memory.c.o free
memory.c.o malloc
memory.c.o realloc
output.c.o free
output.c.o realpath'
[ "$found" = "$expected" ] || { diff <(echo "$expected") <(echo "$found"); echo 'FAILED: allocated beside base/memory.h'; exit 1; }
echo "ok: $(nm -A "$1" 2>/dev/null | grep -cE ' U perp__(malloc|calloc|realloc|free)$') uses of base/memory.h, no others"
