#!/bin/bash -eu
# Every harness with its corpus, in the layout that OSS-Fuzz expects: $OUT/fuzz_NAME and $OUT/fuzz_NAME_seed_corpus.zip. The library alone,
# without IPOPT and Clp; `CC=clang CFLAGS=... LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=dir fuzz/oss-fuzz/build.sh` does the same anywhere.
cd "$(dirname "$0")/../.." 2>/dev/null && [ -d fuzz ] || cd "$SRC/perp"
mkdir -p "$OUT"
library=$(mktemp -d)/library.c
cmake "-DTO=$library" -P cmake/library.cmake
for harness in fuzz/fuzz_*.c; do
    name=$(basename "$harness" .c)
    extra=
    [ "$name" != fuzz_json ] || extra="-Icli cli/problem_fc.c cli/problem_lcp.c"
    # shellcheck disable=SC2086
    $CC $CFLAGS -DPERP_LIBFUZZER -DPERP_VERSION='"fuzz"' -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc src/*/*.c "$library" $extra "$harness" \
        $LIB_FUZZING_ENGINE $([ -z "$extra" ] || echo -Wl,-Bstatic -lcjson -Wl,-Bdynamic) -lm -lpthread -o "$OUT/$name"
    (cd "fuzz/corpus/${name#fuzz_}" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
    [ ! -f "fuzz/${name#fuzz_}.dict" ] || cp "fuzz/${name#fuzz_}.dict" "$OUT/$name.dict"
done
