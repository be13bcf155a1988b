#!/bin/sh
# BUILD STAGE: what `make install` leaves in STAGE serves a program that knows nothing else, and shows only public names.
set -eu
build=$1 stage=$2
rm -rf "$stage"
cmake --build "$build" --target perp_shared -j2 >/dev/null
cmake --install "$build" --prefix "$stage" >/dev/null
library=$stage/lib/libperp.so

hidden=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^perp_[a-z]' || true)
[ -z "$hidden" ] || { echo "not public: $hidden"; exit 1; }

grep -q '^Libs: .*-lperp' "$stage/lib/pkgconfig/perp.pc"
for source in examples/c/*.c; do
    program=$stage/$(basename "$source" .c)
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$stage/include" "$source" -L"$stage/lib" -lperp -lm -Wl,-rpath,"$stage/lib" \
        -o "$program"
    "$program" | grep -q ok || { echo "$program fails"; exit 1; }
done
"$stage/bin/perp" simulate examples/notes/particle.perp -o "$stage/particle.csv" >/dev/null
echo "ok: $(nm -D --defined-only "$library" | wc -l) public functions"
