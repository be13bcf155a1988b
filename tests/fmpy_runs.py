"""FMUs of all examples that simulate, by FMPy: their descriptions are valid, and what FMPy records is what perp simulate writes, bit for
bit, for FMPY_STEPS steps (400). python3 tests/fmpy_runs.py PERP [MODEL ..]; exit code 77 without FMPy."""

import csv
import os
import subprocess
import sys
import tempfile

try:
    import fmpy
    import numpy as np
    from fmpy.validation import validate_fmu
except ImportError:
    print("skipped: no FMPy")
    sys.exit(77)

perp = os.path.abspath(sys.argv[1])
os.environ["OPENBLAS_NUM_THREADS"] = "1"
MOST_STEPS = int(os.environ.get("FMPY_STEPS", 400))


def examples():
    for folder, _, names in sorted(os.walk("examples")):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(".perp") and any(line.split()[:1] == ["simulate"] for line in open(path)):
                yield path


def rows_of(path):
    """Names and rows of a run that perp wrote; what stopped it is the run's own affair."""
    with open(path) as file:
        lines = [line for line in file if not line.startswith("#")]
    table = list(csv.reader(lines))
    return table[0], np.array([[float(x or "nan") for x in row] for row in table[1:]])


def compare(model, version, folder):
    fmu = os.path.join(folder, "a b%d.fmu" % version)
    made = subprocess.run([perp, "export", model, "-o", fmu, "--fmi", str(version), "--quiet"], capture_output=True, text=True)
    if made.returncode:
        return made.stderr.splitlines()[0]
    problems = validate_fmu(fmu)
    assert not problems, problems
    description = fmpy.read_model_description(fmu, validate=True)
    step = float(description.defaultExperiment.stepSize)
    start = float(description.defaultExperiment.startTime)
    out = os.path.join(folder, "run.csv")
    to = min(float(description.defaultExperiment.stopTime), start + MOST_STEPS * step)
    code = subprocess.run([perp, "simulate", model, "--to", repr(to), "-o", out, "--quiet"], capture_output=True).returncode
    if code:
        out += ".partial"
    names, rows = rows_of(out)
    known = {v.name for v in description.modelVariables}
    assert set(names) <= known, set(names) - known
    messages = []
    steps = len(rows) - 1
    # as FMPy's own loop, but that a step's length is said once: start + k*step is what both count
    unzipped = fmpy.extract(fmu)
    reference = {v.name: v.valueReference for v in description.modelVariables}
    arguments = dict(guid=description.guid, unzipDirectory=unzipped, modelIdentifier=description.coSimulation.modelIdentifier)
    if version == 2:
        slave = fmpy.fmi2.FMU2Slave(**arguments)
        slave.instantiate()
        slave.setupExperiment(startTime=start)
        slave.enterInitializationMode()
        read, do = slave.getReal, lambda t: slave.doStep(t, step)
    else:
        slave = fmpy.fmi3.FMU3Slave(**arguments)
        slave.instantiate()
        slave.enterInitializationMode(startTime=start)
        read, do = slave.getFloat64, lambda t: slave.doStep(t, step)
    slave.exitInitializationMode()
    references = [reference[name] for name in names]
    found = [read(references)]
    for k in range(steps):
        do(start + k * step)
        found.append(read(references))
    slave.terminate()
    slave.freeInstance()
    found = np.array(found)
    same = (found[1:] == rows[1:]) | (np.isnan(found[1:]) & np.isnan(rows[1:]))
    assert same.all(), "%s: row %d differs" % (model, 1 + np.argmin(same.all(axis=1)))
    if steps >= 3:  # the whole way of FMPy, too
        result = fmpy.simulate_fmu(fmu, stop_time=start + 3 * step, output_interval=step, step_size=step)
        assert len(result) >= 3
    return "%d steps" % steps


failed = 0
for model in sys.argv[2:] or examples():
    for version in 2, 3:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print("%s, FMI %d: %s" % (model, version, compare(model, version, folder)), flush=True)
            except Exception as fault:
                failed += 1
                print("FAILED: %s, FMI %d: %s" % (model, version, fault), flush=True)
sys.exit(failed > 0)
