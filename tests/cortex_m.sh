#!/usr/bin/env bash
# cortex_m.sh PERP: C code of models, with the programs of examples/cortex-m: on this machine, and on a Cortex-M4 in qemu, to the same bits; in floats, where
# the libraries' sines differ, to 1e-5. Exit 77, which
# says what is missing, where only this machine could be asked.
set -eu
perp=$1
cd "$(dirname "$0")/.."
command -v cc >/dev/null || { echo "skipped: there is no compiler cc"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$perp" export c examples/notes/particle.perp -o "$scratch" --quiet
"$perp" export c examples/control/swing_up.perp -o "$scratch" --step 1e-3 --method backward-euler --quiet
"$perp" export c examples/mechanics/square.perp -o "$scratch" --step 1e-3 --method backward-euler --quiet
"$perp" plan examples/control/swing_up.perp -o "$scratch/plan.csv" --gains "$scratch/gains.csv" --quiet
awk -F, 'BEGIN { print "static const double gains[][6] = {" }
         /^[0-9]/ && NF == 6 && $6 != "" { print "    {" $0 "}," }
         END { print "};" }' "$scratch/gains.csv" >"$scratch/gains.h"
cp examples/cortex-m/* "$scratch"
cd "$scratch"

flags="-std=c99 -O2 -Wall -Wextra -Wconversion -Werror -ffp-contract=off"
build() { # COMPILER, for all programs
    $1 particle.c run_particle.c board.c -lm -o particle.run
    $1 swing_up.c run_feedback.c board.c -lm -o feedback.run
    $1 -DSQUARE_FLOAT square.c run_square.c board.c -lm -o square.run
}
build "cc $flags"
./particle.run >here.txt
[ "$(wc -l <here.txt)" = 12 ] || { echo "error: the particle wrote $(wc -l <here.txt) rows, not 12"; exit 1; }
./feedback.run
./square.run >square_here.txt

missing=
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || missing=$tool
done
[ -n "$missing" ] || [ -e "$(arm-none-eabi-gcc -print-file-name=libm.a)" ] || missing="a C library for it"
[ -z "$missing" ] ||
    { echo "skipped: $missing is not installed (Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)"; exit 77; }
build "arm-none-eabi-gcc $flags -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -nostartfiles -T mps2.ld"
arm-none-eabi-size particle.run feedback.run square.run
machine="timeout 120 qemu-system-arm -M mps2-an386 -nographic -semihosting-config enable=on,target=native -kernel"
$machine particle.run >there.txt 2>&1
cmp here.txt there.txt
$machine feedback.run
$machine square.run >square_there.txt 2>&1
paste square_here.txt square_there.txt | tr -d '\r' | awk '
    NF != 6 { exit 1 }
    { for (i = 1; i <= 3; i++) { d = $i - $(i + 3); if (d > 1e-5 || d < -1e-5) exit 1 } }
    END { if (NR != 12) exit 1 }' || { echo "error: the square moves otherwise there"; paste square_here.txt square_there.txt; exit 1; }
arm-none-eabi-gcc $flags -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -DSQUARE_FLOAT -c square.c
if arm-none-eabi-nm square.o | grep __aeabi_; then
    echo "error: code in floats calls functions of doubles"
    exit 1
fi
echo "ok: the same bits on a Cortex-M4"
