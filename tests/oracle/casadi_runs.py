"""perp export casadi, loaded by CasADi: python3 casadi_runs.py PERP MODEL... Exit code 77: there is no CasADi, or no compiler.

A model's functions are compiled and read by casadi.external; at random points their Jacobians and Hessians, which CasADi builds from
those of the file, are held against differences; and a step is taken by CasADi's IPOPT on the conditions, with exact Hessians, and compared with
the row that perp simulate writes.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import casadi as ca
    import numpy as np
except ImportError:
    print("skipped: no CasADi")
    sys.exit(77)
if not shutil.which("cc"):
    print("skipped: no compiler")
    sys.exit(77)

INPUTS = ["t", "h", "before", "x", "der", "z", "u", "p"]


def load(perp, model, folder):
    source = os.path.join(folder, "model.c")
    subprocess.check_call([perp, "export", "casadi", model, "-o", source, "--quiet"])
    text = open(source).read()
    name = re.search(r"external\('(\w+)_residual'", text)[1]
    library = os.path.join(folder, name + ".so")
    subprocess.check_call(["cc", "-O1", "-shared", "-fPIC", source, "-lm", "-o", library])
    return {what: ca.external(f"{name}_{what}", library) for what in ("residual", "pairs", "outputs", "start", "parameters")}, text


def elements(text, what):
    found = re.search(r"\* " + what + r":(.*?)(?:\n \* \w| \*/)", text, re.S)[1].replace("\n *", "")
    return [re.sub(r" \[[^\]]*\]$", "", x.strip()) for x in re.split(r",(?![^\[]*\])", found) if x.strip()]


def rows(perp, model, folder):
    path = os.path.join(folder, "rows.csv")
    subprocess.check_call([perp, "simulate", model, "-o", path, "--quiet", "--estimate", "none", "--method", "backward-euler"])
    head, *body = csv.reader(line for line in open(path) if not line.startswith("#"))
    return head, np.array([[float(x) for x in row] for row in body])


def slopes(function, outputs, point, random):
    """Largest differences of Jacobian and Hessian from those of differences."""
    sizes = [function.size1_in(i) for i in range(function.n_in())]
    v = ca.MX.sym("v", sum(sizes))
    parts, at = [], 0
    for n in sizes:
        parts.append(v[at : at + n])
        at += n
    results = function(*parts) if function.n_out() > 1 else [function(*parts)]
    out = ca.vertcat(*results[:outputs])
    weight = ca.DM(random.normal(size=out.shape[0]))
    value = ca.Function("value", [v], [out])
    gradient = ca.Function("gradient", [v], [ca.jtimes(out, v, weight, True)])
    worst = []
    exact = [ca.Function("J", [v], [ca.jacobian(out, v)])(point), ca.Function("H", [v], [ca.hessian(ca.dot(weight, out), v)[0]])(point)]
    for f, own in zip((value, gradient), exact):
        by = np.zeros(own.shape)
        for i in range(len(point)):
            d = np.zeros(len(point))
            d[i] = 1e-6 * max(1, abs(point[i]))
            by[:, i] = np.array(f(point + d) - f(point - d)).ravel() / (2 * d[i])
        worst.append(np.max(np.abs(own.full() - by)) / (1 + np.max(np.abs(by))) if by.size else 0)
    return worst


def step(f, given, guess):
    """States and vars at the end of a step: the conditions with a b <= 1e-13, by IPOPT with exact Hessians."""
    nx, nz = len(given["before"]), f["residual"].size1_in(5)
    v = ca.MX.sym("v", nx + nz)
    x, z = v[:nx], v[nx:]
    args = [given["t"], given["h"], given["before"], x, (x - given["before"]) / given["h"], z, given["u"], given["p"]]
    r = f["residual"](*args)
    a, b, lo, hi, on = f["pairs"](*args)
    sides = ca.vertcat(r, a, b, a * b)
    n, m = r.shape[0], a.shape[0]
    nlp = ca.nlpsol("nlp", "ipopt", {"x": v, "f": 0, "g": sides}, {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-12, "bound_relax_factor": 0}})
    upper = [0] * n + [np.inf] * (2 * m) + [1e-13] * m
    lower = [0] * (n + 2 * m) + [-np.inf] * m
    found = nlp(x0=guess, lbg=lower, ubg=upper)
    return np.array(found["x"]).ravel(), nlp.stats()["success"]


def main(perp, models):
    random = np.random.default_rng(1)
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            f, text = load(perp, model, folder)
            head, table = rows(perp, model, folder)
            column = {what: [head.index(name) for name in elements(text, what)] for what in ("states x", "vars z", "inputs u")}
            p = np.array(f["parameters"]()["p"]).ravel() if f["parameters"].nnz_out() else np.zeros(0)
            k = len(table) // 2
            now, last = table[k], table[k - 1]
            h = now[0] - last[0]
            x, before = now[column["states x"]], last[column["states x"]]
            z, u = now[column["vars z"]], now[column["inputs u"]]
            point = np.concatenate([[now[0], h], before, x, (x - before) / h, z, u, p])
            point = point + 1e-2 * random.normal(size=point.shape) * (1 + np.abs(point))
            worst = np.zeros(2)
            for name, outputs in (("residual", 1), ("pairs", 2), ("outputs", 1)):
                if f[name].nnz_out():
                    worst = np.maximum(worst, slopes(f[name], outputs, point, random))
            given = {"t": now[0], "h": h, "before": before, "u": u, "p": p}
            found, is_found = step(f, given, np.concatenate([before, z]))
            off = np.max(np.abs(found[: len(x)] - x) / (1e-3 + np.abs(x)))
            print(f"{model}: Jacobians {worst[0]:.1e}, Hessians {worst[1]:.1e}; a step by IPOPT off by {off:.1e}")
            if not (worst.max() < 1e-6 and is_found and off < 1e-4):
                return 1
    print("ok: CasADi has the derivatives, and its IPOPT the steps")
    return 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
