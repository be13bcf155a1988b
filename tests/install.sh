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

# As the README says it, and as CMake projects do.
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$stage/lib/pkgconfig pkg-config --cflags --libs perp)
    ${CC:-cc} examples/c/01_block.c $flags -o "$stage/block"
    "$stage/block" | grep -q ok || { echo "a program linked by pkg-config fails"; exit 1; }
fi
mkdir "$stage/user"
cat >"$stage/user/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(perp 0.2 REQUIRED)
add_executable(user $PWD/examples/c/02_lcp.c)
target_link_libraries(user perp::perp)
EOF
cmake -S "$stage/user" -B "$stage/user/build" -Dperp_DIR="$stage/lib/cmake/perp" >/dev/null
cmake --build "$stage/user/build" >/dev/null
"$stage/user/build/user" | grep -q ok || { echo "a program found by CMake fails"; exit 1; }
for source in examples/c/*.c; do
    program=$stage/$(basename "$source" .c)
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$stage/include" "$source" -L"$stage/lib" -lperp -lm -Wl,-rpath,"$stage/lib" \
        -o "$program"
    "$program" | grep -q ok || { echo "$program fails"; exit 1; }
done
for text in LICENSE THIRD-PARTY.md perp.spdx; do
    [ -s "$stage/share/doc/perp/$text" ] || { echo "$text is not installed"; exit 1; }
done
# Every library that the command or the library needs is named by the notices.
ldd "$stage/bin/perp" "$library" | sed -nE 's/^[[:space:]]+lib([A-Za-z_]+)[^ ]* =>.*/\1/p' | sort -u | while read -r needed; do
    grep -q "\blib$needed\b" "$stage/share/doc/perp/THIRD-PARTY.md" || { echo "THIRD-PARTY.md says nothing of lib$needed"; exit 1; }
done
# Addresses at random, the linker's tables read-only, stacks guarded.
for file in "$stage/bin/perp" "$library"; do
    readelf -lhdW "$file" >"$stage/elf"
    grep -q 'Type: *DYN' "$stage/elf" && grep -q GNU_RELRO "$stage/elf" && grep -q 'BIND_NOW' "$stage/elf" &&
        grep -q 'GNU_STACK.* RW ' "$stage/elf" || { echo "$file is not guarded"; exit 1; }
    nm -D "$file" | grep -q __stack_chk_fail || { echo "$file has no stack protector"; exit 1; }
    nm -D "$file" | grep -q '_chk@' || { echo "$file is built without FORTIFY"; exit 1; }
done
tests/runpath.sh "$stage"
[ -L "$stage/bin/perp-ampl" ] && "$stage/bin/perp-ampl" -v | grep -q '^perp ' || { echo "perp-ampl is not the command"; exit 1; }
"$stage/bin/perp" simulate examples/notes/particle.perp -o "$stage/particle.csv" >/dev/null
for page in perp perp-plan perp-completion; do
    [ -s "$stage/share/man/man1/$page.1" ] || { echo "the manual page $page is not installed"; exit 1; }
done
[ -s "$stage/share/bash-completion/completions/perp" ] || { echo "the completion of bash is not installed"; exit 1; }
# What is removed again: all that was installed, and nothing else.
touch "$stage/bin/other"
functions=$(nm -D --defined-only "$library" | wc -l)
scripts/uninstall "$build" "$stage" >/dev/null
left=$(find "$stage/bin" "$stage/lib" "$stage/share" "$stage/include" ! -type d)
[ "$left" = "$stage/bin/other" ] || { echo "left behind: $left"; exit 1; }
[ ! -e "$stage/include/perp" ] || { echo "include/perp is left behind"; exit 1; }
echo "ok: $functions public functions"
