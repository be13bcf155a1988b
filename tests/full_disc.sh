#!/usr/bin/env bash
# PERP: on a disc that has room for K more blocks every command that writes ends with 0 or 4, says why, and leaves each file whole: the
# earlier one or the new one; of `export c` all files are of one kind. Nothing else stays.
set -eu
perp=$(realpath "$1")
cd "$(dirname "$0")/.."
disc=$(mktemp -d)
if ! mount -t tmpfs -o size=1024k tmpfs "$disc" 2>/dev/null; then
    rmdir "$disc"
    [ "${2:-}" != again ] && command -v unshare >/dev/null && unshare -rm true 2>/dev/null && exec unshare -rm "$0" "$perp" again
    echo "skipped: no small disc can be mounted here"
    exit 0
fi
said_in=$(mktemp)
trap 'umount "$disc"; rmdir "$disc"; rm -f "$said_in"' EXIT
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

commands() {
    cat <<'EOF'
simulate examples/notes/sliding_one_line.perp --to 100 -o OUT/a.csv
simulate examples/notes/sliding_one_line.perp --to 100 -o OUT/a.perpbin
simulate examples/notes/sliding_one_line.perp --to 100 -o OUT/a.h5
simulate examples/notes/sliding_one_line.perp -o /dev/null --report OUT/a.html
simulate examples/robots/hand.xml --to 0.5 -o OUT/a.csv
plan examples/control/double_integrator.perp -o OUT/a.csv
plan examples/opty/push.perp --log OUT/a.csv
identify examples/identify/block.perp --data examples/identify/block.csv -o OUT/a.json
identify examples/identify/block.perp --data examples/identify/block.csv --report OUT/a.html
report examples/identify/block.csv -o OUT/a.html
report examples/identify/block.csv --svg OUT/a.svg
export examples/notes/particle.perp -o OUT/a.fmu
export c examples/notes/particle.perp -o OUT/code
export casadi examples/notes/particle.perp -o OUT/a.c
export perp examples/robots/cartpole.xml -o OUT/a.perp
sweep examples/notes/particle.perp --vary m=1:20:40 -o OUT/study
sweep examples/notes/particle.perp --vary m=1:20:40 --hdf5 -o OUT/study
EOF
}

faults=0 runs=0 full=0
fault() {
    echo "FAILED: with $room blocks: perp $line: $1"
    faults=$((faults + 1))
}
while IFS= read -r line; do
    for room in 0 1 2 3 5 9 17 33 65 129; do
        rm -rf "$disc"/*
        mkdir "$disc/code"
        for file in a.csv a.perpbin a.h5 a.html a.json a.svg a.fmu a.c a.perp code/particle.c code/particle.h code/particle_main.c; do
            case $line in *OUT/"${file%%/*}"*) echo earlier >"$disc/$file" ;; esac
        done
        before=$(cd "$disc" && find . | sort)
        dd if=/dev/zero of="$disc/fill" bs=4096 2>/dev/null || true
        truncate -s -$((room * 4096)) "$disc/fill"
        code=0
        # shellcheck disable=SC2086
        timeout 120 "$perp" ${line//OUT/$disc} 2>"$said_in" >/dev/null </dev/null || code=$?
        said=$(cat "$said_in")
        runs=$((runs + 1))
        case $code in
        0) ;;
        4) full=$((full + 1)); case $said in *"No space left on device"*) ;; *) fault "exit 4 says: $said" ;; esac ;;
        *) fault "exit $code: $said" ;;
        esac
        after=$(cd "$disc" && find . ! -name fill ! -path './study*' | sort)
        [ "$code" = 0 ] || [ "$before" = "$after" ] || [ -d "$disc/study" ] || fault "leaves $after"
        [ -z "$(find "$disc" -name '*.part')" ] || fault "leaves $(find "$disc" -name '*.part')"
        if [ "$code" != 0 ] && [ ! -d "$disc/study" ]; then
            for file in $(cd "$disc" && find . -type f ! -name fill); do
                [ "$(head -c 7 "$disc/$file")" = earlier ] || fault "$file is not the earlier one"
            done
        fi
    done
done < <(commands)
[ "$faults" = 0 ] || exit 1
[ "$full" -gt 30 ] || { echo "FAILED: the disc was full in $full runs alone"; exit 1; }
echo "ok: $runs runs, the disc was full in $full"
