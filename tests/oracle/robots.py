"""What MuJoCo's compiler makes of robot files and what our reader does, then M, bias force, places, Jacobians and contacts by both: the same to 1e-9.

usage: robots.py PROBE FILE..        then the defaults of robot_cases.py, one by one
       prints "skipped: .." and exits 77 without MuJoCo's Python package
"""

import os
import random
import subprocess
import sys
import tempfile

try:
    import mujoco
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}; pip install mujoco")
    sys.exit(77)

from robot_cases import CASES, WRONG

TOL, SEED, STATES = 1e-9, 20261123, 12
EXACT = {int(k) for k in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE)}


class Judge:
    """How far numbers are off, of their size if it is above 1; the worst by kind, which is the first word after the colon."""

    def __init__(self, tol=TOL, sees_places=True):
        self.tol, self.sees_places, self.worst = tol, sees_places, {}

    def near(self, what, ours, theirs):
        ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
        if ours.shape != theirs.shape:
            raise SystemExit(f"FAILED: {what}: {ours.shape} numbers, MuJoCo {theirs.shape}")
        if ours.size == 0:
            return
        apart = np.abs(ours - theirs)
        off, at = apart.max() / max(1.0, np.abs(theirs).max()), apart.argmax()
        kind = what.split(": ")[-1].split(" ")[0]
        self.worst[kind] = max(self.worst.get(kind, 0), off)
        if not off <= self.tol:
            raise SystemExit(f"FAILED: {what}: differs by {off:.2e} at {at}: ours {ours.flat[at]!r}, MuJoCo {theirs.flat[at]!r}")

    def figures(self):
        return ", ".join(f"{kind} {off:.0e}" for kind, off in sorted(self.worst.items()))


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
        elif word in ("length", "moment"):
            answer.setdefault(word, []).append([float(x) for x in rest])
        elif word in ("pose", "J"):
            answer["body"][name][word] = [float(x) for x in rest]
        else:
            answer[word] = [float(x) for x in rest]
    raise SystemExit("FAILED: our side ended early")


def disabled(model, *names):
    flags = [getattr(mujoco.mjtDisableBit, "mjDSBL_" + name, None) for name in names]
    return any(flag is not None and model.opt.disableflags & flag for flag in flags)


def rotor(model, kind, index):
    """Damping and armature of the actuators of a joint or a tendon, through their gears."""
    if not hasattr(model, "actuator_armature"):
        return np.zeros(2)
    mine = [i for i in range(model.nu) if model.actuator_trntype[i] == kind and model.actuator_trnid[i][0] == index]
    return sum((model.actuator_gear[i][0] ** 2 * np.array([np.ravel(model.actuator_damping[i])[0], model.actuator_armature[i]]) for i in mine), np.zeros(2))


def joint_rows(model):
    """Per joint what `law` of robot_probe has: limits, rest and stiffness of the spring, dry friction, damping, armature."""
    rows = []
    no_spring, no_damper = disabled(model, "PASSIVE", "SPRING"), disabled(model, "PASSIVE", "DAMPER")
    for j in range(model.njnt):
        v, kind = int(model.jnt_dofadr[j]), mujoco.mjtJoint(int(model.jnt_type[j]))
        single = kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
        low, high = model.jnt_range[j] if model.jnt_limited[j] and single and not disabled(model, "LIMIT") else (0, 0)
        if kind == mujoco.mjtJoint.mjJNT_BALL and model.jnt_limited[j] and not disabled(model, "LIMIT"):
            high = model.jnt_range[j].max()
        stiffness = 0 if no_spring else model.jnt_stiffness[j]
        rest = model.qpos_spring[model.jnt_qposadr[j]] if stiffness and single else 0
        friction = 0 if disabled(model, "FRICTIONLOSS") else model.dof_frictionloss[v]
        damping, armature = [model.dof_damping[v], model.dof_armature[v]] + rotor(model, mujoco.mjtTrn.mjTRN_JOINT, j)
        rows.append([low, high, rest, stiffness, friction, 0 if no_damper else damping, armature])
    return rows


def tendon_rows(model):
    rows = []
    for t in range(model.ntendon):
        first, n = int(model.tendon_adr[t]), int(model.tendon_num[t])
        if model.wrap_type[first] != mujoco.mjtWrap.mjWRAP_JOINT:
            n = 0
        low, high = model.tendon_range[t] if model.tendon_limited[t] else (0, 0)
        rest = model.tendon_lengthspring[t] if model.tendon_stiffness[t] else (0, 0)
        coefficient = {}
        for w in range(first, first + n):
            j = int(model.wrap_objid[w])
            coefficient[j] = coefficient.get(j, 0) + model.wrap_prm[w]
        rows.append(([low, high, *rest, model.tendon_stiffness[t], model.tendon_frictionloss[t], model.tendon_damping[t] + rotor(model, mujoco.mjtTrn.mjTRN_TENDON, t)[0]],
                     [coefficient[j] for j in sorted(coefficient) if coefficient[j]]))
    return rows


def drive_row(model, i):
    """What `drive` of robot_probe has, but its force range where the joint has one as well."""
    at_site = model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_SITE
    affine = model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE
    is_muscle = model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_MUSCLE
    bias = model.actuator_biasprm[i] if affine else np.zeros(3)
    force = model.actuator_forcerange[i] if model.actuator_forcelimited[i] else (0, 0)
    control = model.actuator_ctrlrange[i] if model.actuator_ctrllimited[i] and not disabled(model, "CLAMPCTRL") else (0, 0)
    if model.actuator_group[i] >= 0 and model.opt.disableactuator >> int(model.actuator_group[i]) & 1:  # it has no force
        return [1 if at_site else model.actuator_gear[i][0], 0, 0, 0, 0, *force, *control, int(model.actuator_trnid[i][0]) + 1 if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON else 0, int(at_site)]
    of_tendon = model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON
    return [1 if at_site else model.actuator_gear[i][0], 0 if is_muscle else model.actuator_gainprm[i][0], bias[0], 0 if at_site else -bias[1],
            0 if at_site else -bias[2], *force, *control, int(model.actuator_trnid[i][0]) + 1 if of_tendon else 0, int(at_site)]


def act_row(model, i):
    """What `act` of robot_probe has; a filter is one whether MuJoCo finds it exactly or not."""
    gain, dyn, at_site = model.actuator_gainprm[i], model.actuator_dynprm[i], model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_SITE
    kind = {"NONE": 0, "INTEGRATOR": 1, "FILTER": 2, "FILTEREXACT": 2, "MUSCLE": 3}[mujoco.mjtDyn(int(model.actuator_dyntype[i])).name[6:]]
    more = -gain[1:3] if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_AFFINE and not at_site else (0, 0)
    times = [dyn[0] if kind > 1 else 0, *(dyn[1:3] if kind == 3 else (0, 0))]
    low, high = model.actuator_actrange[i] if model.actuator_actlimited[i] and kind else (0, 0)
    muscle = [0] * 10
    if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_MUSCLE:
        passive = model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_MUSCLE
        force = gain[2] if gain[2] >= 0 else gain[3] / model.actuator_acc0[i]
        muscle = [force, *gain[:2], *gain[4:7], gain[7] if passive else 0, gain[8], *model.actuator_lengthrange[i]]
    return [*more, kind, *times, low, high, int(model.actuator_actearly[i]) if kind else 0, *muscle]


def key_activations(model):
    """Of each actuator."""
    out = np.zeros((model.nkey, model.nu))
    for i in range(model.nu):
        if model.actuator_actadr[i] >= 0:
            out[:, i] = model.key_act[:, model.actuator_actadr[i]]
    return out


def compare_parts(file, model, parts, judge):
    options = [model.opt.timestep, *(model.opt.gravity * (not disabled(model, "GRAVITY"))), model.opt.density, model.opt.viscosity, *model.opt.wind]
    judge.near(f"{file}: options", parts["option"][0], options)
    judge.near(f"{file}: joints", parts["law"], joint_rows(model))
    rows = tendon_rows(model)
    judge.near(f"{file}: tendons", parts.get("tendon", []), [row for row, _ in rows])
    judge.near(f"{file}: strands", [x for row in parts.get("strand", []) for x in row], [x for _, row in rows for x in row])
    masses = {}
    for name, mass in parts["mass"]:
        masses[name] = masses.get(name, np.zeros(2)) + np.array(mass)
    for i in range(1, model.nbody):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i)
        if name in masses and model.body_weldid[i] and not file.endswith(".urdf"):  # of URDF MuJoCo joins bodies that are fixed to each other
            judge.near(f"{file}: mass of {name}", masses[name], [model.body_mass[i], model.body_gravcomp[i]])
    ours = parts.get("drive", [])
    if not disabled(model, "ACTUATION") and len(ours) != model.nu:
        raise SystemExit(f"FAILED: {file}: {len(ours)} actuators, MuJoCo {model.nu}")
    for i, row in enumerate(ours):
        theirs, joint = drive_row(model, i), int(model.actuator_trnid[i][0])
        if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT and model.jnt_actfrclimited[joint]:
            row[5:7] = theirs[5:7]
        judge.near(f"{file}: actuator {i}", row, theirs)
    judge.near(f"{file}: activations", parts.get("act", []), [act_row(model, i) for i in range(len(ours))])
    for k, theirs in (("key_q", model.key_qpos), ("key_v", model.key_qvel), ("key_u", model.key_ctrl), ("key_act", key_activations(model))):
        rows = parts.get(k, [])
        judge.near(f"{file}: keys", np.reshape(rows, (len(rows), theirs.shape[1])), theirs)


def compare_pushes(file, model, data, parts, answer, judge):
    """The moment arms of actuators of sites."""
    pushes, moments = iter(parts.get("push", [])), np.zeros((model.nu, model.nv))
    for i in range(model.nu):
        row, n = int(data.moment_rowadr[i]), int(data.moment_rownnz[i])
        moments[i, data.moment_colind[row:row + n]] = data.actuator_moment.ravel()[row:row + n]
        if model.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_SITE:
            continue
        push = np.array(next(pushes))
        name = parts["mass"][int(push[0]) - 1][0]
        pose = np.array(answer["body"][name]["pose"])
        R = pose[3:].reshape(3, 3)
        J, T = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, J, T, pose[:3] + R @ push[1:4], mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name))
        judge.near(f"{file}: push {i}", J.T @ R @ push[4:7] + T.T @ R @ push[7:], moments[i])


def compare_tendons(file, model, data, answer, judge):
    """Lengths, and how they change with each velocity."""
    J = np.zeros((model.ntendon, model.nv))
    for t in range(model.ntendon):
        if hasattr(data, "ten_J_rowadr"):
            first, n = int(data.ten_J_rowadr[t]), int(data.ten_J_rownnz[t])
            J[t, data.ten_J_colind.ravel()[first:first + n]] = data.ten_J.ravel()[first:first + n]
        elif hasattr(model, "ten_J_rowadr"):
            first, n = int(model.ten_J_rowadr[t]), int(model.ten_J_rownnz[t])
            J[t, model.ten_J_colind.ravel()[first:first + n]] = data.ten_J.ravel()[first:first + n]
        else:
            J[t] = data.ten_J.reshape(model.ntendon, model.nv)[t]
    judge.near(f"{file}: lengths", np.ravel(answer.get("length", [])), data.ten_length)
    judge.near(f"{file}: moments", np.reshape(answer.get("moment", []), J.shape), J)


def equality_errors(model, data, e):
    rows = [r for r in range(data.nefc) if data.efc_type[r] == mujoco.mjtConstraint.mjCNSTR_EQUALITY and data.efc_id[r] == e]
    return np.array([data.efc_pos[r] for r in rows])


def compare_equalities(file, model, data, parts, answer, judge):
    """Points that are joined are as far apart as there; of a coupling the one q that ours makes of the other leaves no error there."""
    active = [e for e in range(model.neq) if model.eq_active0[e]]
    ours = parts.get("equality", [])
    if len(active) != len(ours) and not disabled(model, "EQUALITY", "CONSTRAINT"):
        raise SystemExit(f"FAILED: {file}: {len(ours)} equalities, MuJoCo {len(active)}")
    for e, (kind, row) in zip(active, ours):
        if kind == "tied":
            x, y = data.ten_length[int(row[0]) - 1], data.ten_length[int(row[1]) - 1] if row[1] else 0
            judge.near(f"{file}: tied {e}", [x - np.polyval(row[12:7:-1], y)], equality_errors(model, data, e))
            continue
        if kind == "joint":
            moving = [i for i, law in enumerate(parts["joint"]) if law != "fixed"]
            y, x = (int(model.jnt_qposadr[moving.index(int(row[k]) - 1)]) if row[k] else None for k in (0, 1))
            other = mujoco.MjData(model)
            other.qpos[:] = data.qpos
            other.qpos[y] = np.polyval(row[12:7:-1], data.qpos[x] if x is not None else 0)
            mujoco.mj_forward(model, other)
            judge.near(f"{file}: coupling {e}", equality_errors(model, other, e), [0])
            continue
        ends = []
        for side in (0, 1):
            body, point = int(row[side]), np.array(row[2 + 3 * side:5 + 3 * side])
            pose = np.array(answer["body"][parts["mass"][body - 1][0]]["pose"] if body else [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1])
            ends.append(pose[:3] + pose[3:].reshape(3, 3) @ point)
        judge.near(f"{file}: joined {e}", ends[0] - ends[1], equality_errors(model, data, e)[:3])


def read_parts(probe):
    """The lines before `read`: numbers by their first word, joints and equalities together."""
    parts = {"law": [], "joint": [], "mass": []}
    for line in probe.stdout:
        word, *rest = line.split()
        if word == "read":
            return parts
        if word in ("fixed", "hinge", "slide", "ball", "free"):
            parts["joint"].append(word)
            if word != "fixed":
                parts["law"].append([float(x) for x in rest])
        elif word in ("connect", "weld", "coupling", "tied"):
            parts.setdefault("equality", []).append(("joint" if word == "coupling" else word, [float(x) for x in rest]))
        elif word == "mass":
            parts["mass"].append((rest[0], [float(x) for x in rest[1:]]))
        else:
            parts.setdefault(word, []).append([float(x) for x in rest])
    raise SystemExit("FAILED: it is not read")


def compare(file, probe_path, rng, name, judge, states=STATES):
    model = mujoco.MjModel.from_xml_path(file)
    data = mujoco.MjData(model)
    probe = subprocess.Popen([probe_path, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    contacts, M = 0, np.zeros((model.nv, model.nv))
    first = probe.stdout.readline().split()
    if not first:
        raise SystemExit(f"FAILED: {name}: it is not read")
    judge.near(f"{name}: start", [float(x) for x in first[1:]], model.qpos0)
    parts = read_parts(probe)
    compare_parts(name, model, parts, judge)
    for state in range(states if model.nv else 0):
        if state:
            random_state(model, data, rng)
        mujoco.mj_forward(model, data)
        print(*[repr(float(x)) for x in list(data.qpos) + list(data.qvel)], file=probe.stdin, flush=True)
        ours = read_answer(probe)
        try:
            mujoco.mj_fullM(model, M, data.qM)
        except (TypeError, AttributeError):
            mujoco.mj_fullM(model, data, M)
        judge.near(f"{name}: M", ours["M"], M.flatten())
        judge.near(f"{name}: bias", ours["c"], data.qfrc_bias)
        J = np.zeros((3, model.nv))
        for i in range(1, model.nbody):
            body = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i)
            mine = ours["body"].get(body)
            if body is None or mine is None:
                continue
            judge.near(f"{name}: rotation of {body}", mine["pose"][3:], data.xmat[i])
            mujoco.mj_jac(model, data, J, None, np.array([0.1, 0.2, 0.3]), i)
            judge.near(f"{name}: Jacobian of {body}", mine["J"], J.T.flatten())
        compare_pushes(name, model, data, parts, ours, judge)
        compare_tendons(name, model, data, ours, judge)
        compare_equalities(name, model, data, parts, ours, judge)
        if ours["parts"][0] == 1:  # of a step in parts they are those of the last one
            contacts += compare_touches(name, model, data, ours["touch"], judge)
    probe.stdin.close()
    probe.wait()
    return contacts


def compare_touches(file, model, data, ours, judge):
    """Pairs that touch in MuJoCo do here, closed forms at the same points; and where it has none for a pair, none of ours overlaps. Geoms
    without a name are not looked at."""
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
        mu = [contact.friction[k] if contact.dim >= least else 0 for k, least in ((0, 3), (2, 4), (3, 6))]
        judge.near(f"{file}: friction of {names}", near_one[2][7:], mu)
        if not judge.sees_places:
            continue
        sign = 1 if near_one[0] == names[0] else -1
        judge.near(f"{file}: contact of {names}", near_one[2][:3], contact.pos)
        judge.near(f"{file}: normal of {names}", sign * np.array(near_one[2][3:6]), contact.frame[:3])
        judge.near(f"{file}: gap of {names}", near_one[2][6], contact.dist)
    for x, y, values in ours:
        if values[6] < -1e-9 and "-" not in (x, y) and frozenset((x, y)) not in pairs:
            raise SystemExit(f"FAILED: {file}: {x} and {y} touch here, in MuJoCo they do not")
    return sum(len(c) for c in pairs.values())


def compare_text(name, text, probe_path, rng):
    """Places of contacts are not looked at, since bodies that overlap are moved apart; MuJoCo has meshes in single precision."""
    is_ring = "through space: through" in name  # there MuJoCo's iteration ends at 1e-6
    judge = Judge(1e-5 if "<mesh" in text else 1e-7 if is_ring else TOL, sees_places=False)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "case.xml")
        with open(file, "w") as out:
            out.write(text)
        compare(file, probe_path, rng, name, judge, states=40 if "through space" in name else 3)
    return judge.worst


def refused(text, probe_path):
    """By MuJoCo, by us."""
    try:
        mujoco.MjModel.from_xml_string(text)
        theirs = False
    except ValueError:
        theirs = True
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(text)
        file.flush()
        probe = subprocess.run([probe_path, file.name], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return theirs, probe.returncode == 1 and ":" in probe.stderr


def main():
    rng, (probe_path, *files) = random.Random(SEED), [os.path.abspath(name) for name in sys.argv[1:]]
    os.chdir(tempfile.gettempdir())  # MuJoCo writes a log of its warnings where it is
    for file in files:
        judge = Judge()
        contacts = compare(file, probe_path, rng, file, judge)
        print(f"{file}: {STATES} states, {contacts} contacts; differs by {judge.figures()}")
    single, double = Judge(), Judge()
    for name, text in CASES:
        to = single if "<mesh" in text else double
        for kind, off in compare_text(name, text, probe_path, rng).items():
            to.worst[kind] = max(to.worst.get(kind, 0), off)
    print(f"{len(CASES)} defaults: differ by {double.figures()}")
    print(f"of them with meshes: by {single.figures()}")
    for name, text in WRONG:
        if refused(text, probe_path) != (True, True):
            raise SystemExit(f"FAILED: {name}: refused by MuJoCo, by us: {refused(text, probe_path)}")
    print(f"{len(WRONG)} texts that both refuse")
    print(f"ok: MuJoCo {mujoco.__version__}, seed {SEED}")


main()
