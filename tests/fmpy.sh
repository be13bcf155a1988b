#!/bin/sh
# FMUs beside those who know the standard: the interface by the standard's own headers, which FMPy brings along, and all examples run by
# FMPy. tests/fmpy.sh PERP; FMPY_PYTHON names a Python that has FMPy (default python3). Exit code 77: there is none.
set -eu
python=${FMPY_PYTHON:-python3}
headers=$("$python" -c 'import fmpy, os; print(os.path.join(os.path.dirname(fmpy.__file__), "c-code"))' 2>/dev/null) || {
    echo "skipped: no FMPy"
    exit 77
}
for version in 2 3; do
    ${CC:-cc} -std=c11 -fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc -isystem "$headers" \
        -DPERP_FMI${version}_HEADER="\"fmi${version}Functions.h\"" src/export/fmu/fmi$version.c
done
echo "ok: the interface is that of the standard's headers"
exec "$python" tests/fmpy_runs.py "$@"
