"""M, bias force, places, Jacobians and contacts of robot files, by MuJoCo and by our kernel: the same to 1e-9.

usage: robots.py PROBE FILE..        prints "skipped: .." and exits 77 without MuJoCo's Python package
"""

import random
import subprocess
import sys

try:
    import mujoco
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}; pip install mujoco")
    sys.exit(77)

TOL, SEED, STATES = 1e-9, 20261123, 12
EXACT = {int(k) for k in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE)}


def near(what, ours, theirs, worst):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    if ours.shape != theirs.shape:
        raise SystemExit(f"FAILED: {what}: {ours.shape} numbers, MuJoCo {theirs.shape}")
    if ours.size == 0:
        return
    scale = max(1.0, np.abs(theirs).max())
    off = np.abs(ours - theirs).max() / scale
    kind = what.split(":")[1].strip().split(" ")[0]
    worst[kind] = max(worst.get(kind, 0), off)
    if not off <= TOL:
        raise SystemExit(f"FAILED: {what}: differs by {off:.2e} at {np.abs(ours - theirs).argmax()}: ours {ours.flat[np.abs(ours - theirs).argmax()]!r}, MuJoCo {theirs.flat[np.abs(ours - theirs).argmax()]!r}")


def random_state(model, data, rng):
    """Angles, places and turns at random, within the limits; and velocities."""
    mujoco.mj_resetData(model, data)
    for j in range(model.njnt):
        q, kind = int(model.jnt_qposadr[j]), mujoco.mjtJoint(int(model.jnt_type[j]))
        if kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            low, high = model.jnt_range[j] if model.jnt_limited[j] else (-1, 1)
            data.qpos[q] = rng.uniform(low, high)
        else:
            at = q + (3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0)
            for k in range(q, at):
                data.qpos[k] += rng.uniform(-0.2, 0.2)
            turn = np.array([rng.gauss(0, 1) for _ in range(4)])
            data.qpos[at:at + 4] = turn / np.linalg.norm(turn)
    data.qvel[:] = [rng.uniform(-1, 1) for _ in range(model.nv)]


def read_answer(probe):
    answer = {"body": {}, "touch": []}
    for line in probe.stdout:
        word, *rest = line.split()
        if word == "end":
            return answer
        if word == "body":
            name = " ".join(rest)
            answer["body"][name] = {}
        elif word == "touch":
            answer["touch"].append((rest[0], rest[1], [float(x) for x in rest[2:]]))
        elif word in ("pose", "J"):
            answer["body"][name][word] = [float(x) for x in rest]
        else:
            answer[word] = [float(x) for x in rest]
    raise SystemExit("FAILED: our side ended early")


def compare(file, probe_path, rng):
    model = mujoco.MjModel.from_xml_path(file)
    data = mujoco.MjData(model)
    probe = subprocess.Popen([probe_path, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worst, contacts, M = {}, 0, np.zeros((model.nv, model.nv))
    first = probe.stdout.readline().split()
    if not first:
        raise SystemExit(f"FAILED: {file}: it is not read")
    near(f"{file}: start", [float(x) for x in first[1:]], model.qpos0, worst)
    near(f"{file}: step", 0, 0, worst)
    for state in range(STATES):
        if state:
            random_state(model, data, rng)
        mujoco.mj_forward(model, data)
        print(*[repr(float(x)) for x in list(data.qpos) + list(data.qvel)], file=probe.stdin, flush=True)
        ours = read_answer(probe)
        try:
            mujoco.mj_fullM(model, M, data.qM)
        except (TypeError, AttributeError):
            mujoco.mj_fullM(model, data, M)
        near(f"{file}: M", ours["M"], M.flatten(), worst)
        near(f"{file}: bias", ours["c"], data.qfrc_bias, worst)
        J = np.zeros((3, model.nv))
        for i in range(1, model.nbody):
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i)
            mine = ours["body"].get(name)
            if name is None or mine is None:
                continue
            near(f"{file}: rotation of {name}", mine["pose"][3:], data.xmat[i], worst)
            mujoco.mj_jac(model, data, J, None, np.array([0.1, 0.2, 0.3]), i)
            near(f"{file}: Jacobian of {name}", mine["J"], J.T.flatten(), worst)
        contacts += compare_touches(file, model, data, ours["touch"], worst)
    probe.stdin.close()
    probe.wait()
    figures = ", ".join(f"{kind} {off:.0e}" for kind, off in sorted(worst.items()) if kind != "step")
    print(f"{file}: {STATES} states, {contacts} contacts; differs by {figures}")


def compare_touches(file, model, data, ours, worst):
    """Pairs that touch in MuJoCo do here, closed forms at the same points; and where it has none for a pair, none of ours overlaps."""
    pairs = {}
    for contact in data.contact[:data.ncon]:
        names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, int(g)) for g in contact.geom]
        if None in names or contact.dist > 0:
            continue
        pairs.setdefault(frozenset(names), []).append(contact)
        found = [t for t in ours if {t[0], t[1]} == set(names)]
        if not found:
            raise SystemExit(f"FAILED: {file}: {names} touch, and not here")
        kinds = {int(model.geom_type[g]) for g in contact.geom}
        if not kinds <= EXACT or kinds == {int(mujoco.mjtGeom.mjGEOM_CAPSULE)} or contact.dist < -0.03:
            continue  # found by iteration, or deep: which way out is shortest hangs on rounding
        near_one = min(found, key=lambda t: np.abs(np.array(t[2][:3]) - contact.pos).max())
        sign = 1 if near_one[0] == names[0] else -1
        near(f"{file}: contact of {names}", near_one[2][:3], contact.pos, worst)
        near(f"{file}: normal of {names}", sign * np.array(near_one[2][3:6]), contact.frame[:3], worst)
        near(f"{file}: gap of {names}", near_one[2][6], contact.dist, worst)
        mu = contact.friction[0] if contact.dim > 1 else 0
        near(f"{file}: friction of {names}", near_one[2][7], mu, worst)
    for x, y, values in ours:
        if values[6] < -1e-9 and frozenset((x, y)) not in pairs:
            raise SystemExit(f"FAILED: {file}: {x} and {y} touch here, in MuJoCo they do not")
    return sum(len(c) for c in pairs.values())


def main():
    rng = random.Random(SEED)
    for file in sys.argv[2:]:
        compare(file, sys.argv[1], rng)
    print(f"ok: MuJoCo {mujoco.__version__}, seed {SEED}")


main()
