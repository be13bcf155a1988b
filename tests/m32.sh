#!/bin/sh
# Every source of the library compiles for 32-bit x86 without SSE, where a double is computed with more digits than it has.
set -eu
flags="-m32 -march=i686 -mno-sse -std=c11 -ffp-contract=off -Wall -Wextra -Wpedantic -Werror -D_POSIX_C_SOURCE=200809L"
printf '#include <math.h>\n#include <stdlib.h>\n' | ${CC:-cc} $flags -x c -fsyntax-only - 2>/dev/null || {
    echo "skipped: this compiler has no 32-bit x86 (Debian: gcc-multilib)"
    exit 0
}
${CC:-cc} $flags -DPERP_VERSION='"m32"' -Iinclude -Isrc -fsyntax-only src/*/*.c
echo "ok: $(ls src/*/*.c | wc -l) sources"
