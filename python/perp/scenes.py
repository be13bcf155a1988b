"""Scenes of bodies without a file: parts, joints, shapes, actuators, as in perp/bodies.h and perp/joints.h."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ._checks import kind, number, numbers, path, shape_text, suggests, word
from ._library import ArgumentError, Diagnostics, c_text, doubles, ffi, lib
from .batches import Batch
from .bodies import State
from .robots import set_options
from .systems import System

_ENDS = {
    "fixed": ((), ()),
    "hinge": (("",), (".v",)),
    "slide": (("",), (".v",)),
    "ball": ((".qw", ".qx", ".qy", ".qz"), (".wx", ".wy", ".wz")),
    "free": ((".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz"), (".vx", ".vy", ".vz", ".wx", ".wy", ".wz")),
}
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}


def _range(name: str, value: Any) -> Any:
    """A perp_range; None: no bounds."""
    out = ffi.new("perp_range *")
    if value is not None:
        bounds = numbers(name, value, (2,), finite=False)
        if not bounds[0] <= bounds[1]:
            raise ArgumentError(f"{name}: (lower, upper) with lower <= upper is expected, not ({bounds[0]:g}, {bounds[1]:g})")
        out.limited, out.lower, out.upper = 1, bounds[0], bounds[1]
    return out[0]


def _rotation(value: ArrayLike | None) -> list[float]:
    quat = numbers("quat", (1, 0, 0, 0) if value is None else value, (4,))
    if not quat.any():
        raise ArgumentError("quat: a quaternion (w, x, y, z) of length > 0 is expected")
    return list(quat)


_SURFACE = ("mu", "restitution", "torsional_friction", "rolling_friction", "collides", "name")


def _surface(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _SURFACE}


class Shapes:
    """What a part and a scene have in common: on a part they add a shape to the body, on a scene each is a free body of its own.

    Parameters: `size`, half lengths as in MJCF [m]; `mass`, spread evenly [kg], > 0 on a scene; `pos` and `quat`, in the frame of the part,
    on a scene the start in the world; `mu`, `restitution`, `torsional_friction` and `rolling_friction` [m] of the contacts, of two shapes
    the larger counts; `collides`; `name`, of the shape, on a scene of the body. Each returns the part.
    """

    def _add(
        self, what: str, size: Any, mass: float, pos: ArrayLike, quat: ArrayLike | None, surface: dict[str, Any], keep: Any = None
    ) -> Part:
        raise NotImplementedError

    @suggests
    def box(
        self,
        size: ArrayLike,
        mass: float = 0,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        collides: bool = True,
        name: str | None = None,
    ) -> Part:
        """Add a box; size: half of its lengths along x, y, z.

        Examples
        --------
        >>> perp.Scene().free().box((0.1, 0.2, 0.3), mass=1, mu=0.5).joint
        'free'
        """
        return self._add("box", size, mass, pos, quat, _surface(locals()))

    @suggests
    def sphere(
        self,
        size: ArrayLike,
        mass: float = 0,
        pos: ArrayLike = (0, 0, 0),
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        collides: bool = True,
        name: str | None = None,
    ) -> Part:
        """Add a ball; size: its radius.

        Examples
        --------
        >>> perp.Scene().free().sphere(0.1, mass=1, pos=(0, 0, 0.2)).joint
        'free'
        """
        return self._add("sphere", size, mass, pos, None, _surface(locals()))

    @suggests
    def capsule(
        self,
        size: ArrayLike,
        mass: float = 0,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        collides: bool = True,
        name: str | None = None,
    ) -> Part:
        """Add a capsule along z; size: radius, half of the length between the centres of its ends.

        Examples
        --------
        >>> perp.Scene().hinge().capsule((0.02, 0.2), mass=1, pos=(0, 0, 0.2)).joint
        'hinge'
        """
        return self._add("capsule", size, mass, pos, quat, _surface(locals()))

    @suggests
    def cylinder(
        self,
        size: ArrayLike,
        mass: float = 0,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        collides: bool = True,
        name: str | None = None,
    ) -> Part:
        """Add a cylinder along z; size: radius, half of its length.

        Examples
        --------
        >>> perp.Scene().hinge().cylinder((0.1, 0.02), mass=1).joint
        'hinge'
        """
        return self._add("cylinder", size, mass, pos, quat, _surface(locals()))

    @suggests
    def ellipsoid(
        self,
        size: ArrayLike,
        mass: float = 0,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        collides: bool = True,
        name: str | None = None,
    ) -> Part:
        """Add an ellipsoid; size: half of its axes along x, y, z.

        Examples
        --------
        >>> perp.Scene().free().ellipsoid((0.1, 0.08, 0.06), mass=1).joint
        'free'
        """
        return self._add("ellipsoid", size, mass, pos, quat, _surface(locals()))

    @suggests
    def mesh(
        self,
        points: ArrayLike | os.PathLike[str] | str,
        mass: float = 0,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        scale: ArrayLike = (1, 1, 1),
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        collides: bool = True,
        name: str | None = None,
    ) -> Part:
        """Add the convex hull of points (n, 3), or of an OBJ or STL file times `scale`.

        Examples
        --------
        >>> perp.Scene().free().mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], mass=1).joint
        'free'
        """
        surface = _surface(locals())
        out, diag = ffi.new("perp_mesh **"), Diagnostics()
        factors = numbers("scale", scale, (3,))
        if isinstance(points, (str, os.PathLike)):
            diag.check(lib.perp_mesh_read(ffi.new("char[]", path("points", points)), doubles(factors), out, diag.c))
        else:
            array = numbers("points", points, (-1, 3)) * factors
            if len(array) < 4:
                raise ArgumentError(f"points: at least 4 are expected, not {len(array)}")
            diag.check(lib.perp_mesh_hull(doubles(array), len(array), out, diag.c))
        return self._add("mesh", None, mass, pos, quat, surface, ffi.gc(out[0], lib.perp_mesh_destroy))


class Part(Shapes):
    """A body of a scene; `Scene.world` is the one that does not move. Made by the joints of `Scene`.

    Examples
    --------
    >>> scene = perp.Scene()
    >>> arm = scene.hinge(axis=(0, 1, 0), pos=(0, 0, 1), name="arm")
    >>> arm.capsule((0.02, 0.2), mass=0.5, pos=(0, 0, -0.2)).sphere(0.05, mass=1, pos=(0, 0, -0.45)).name
    'arm'
    """

    def __init__(self, scene: Scene, number_: int, name: str, joint: str) -> None:
        self.scene, self.name, self.joint = scene, name, joint
        self._number = number_
        self._body = ffi.new("perp_body *")
        self._law = ffi.new("perp_joint_law *")

    def _add(
        self, what: str, size: Any, mass: float, pos: ArrayLike, quat: ArrayLike | None, surface: dict[str, Any], keep: Any = None
    ) -> Part:
        shape = ffi.new("perp_shape *", {"body": self._number, "kind": getattr(lib, f"PERP_SHAPE_{what.upper()}")})
        n = _SIZES.get(what, 0)
        if n:
            array = numbers("size", [size] if n == 1 and isinstance(size, (int, float, np.number)) else size, (n,))
            if not (array > 0).all():
                raise ArgumentError(f"size: numbers > 0 are expected of a {what}, not {array.tolist()}")
            shape.size[0:n] = list(array)
        if what == "mesh":
            shape.mesh = keep
        if what == "field":
            shape.field = keep
        shape.position, shape.rotation = list(numbers("pos", pos, (3,))), _rotation(quat)
        collides = surface.pop("collides", True)
        name = surface.pop("name", None)
        for option, value in surface.items():
            at_most = 1.0 if option == "restitution" else float("inf")
            setattr(shape, option, number(option, value, at_least=0, at_most=at_most))
        if not isinstance(collides, (bool, np.bool_)):
            raise ArgumentError(f"collides: True or False is expected, not {kind(collides)}")
        mass = number("mass", mass, at_least=0)
        if mass > 0 and self._number == 0:
            raise ArgumentError("mass: the world has none")
        if mass > 0 and lib.perp_body_add_solid(self._body, shape, mass) != lib.PERP_OK:
            raise ArgumentError(f"mass: a {what} has no volume for it")
        self.scene._add_shape(shape, name, bool(collides), keep)
        return self

    def __repr__(self) -> str:
        return f"<part {self.name!r} on a {self.joint} joint>" if self._number else "<the world>"


class _SceneSystem(System):
    """A scene as it was when a state started: what is added later is not its."""

    def __init__(self, scene: Scene) -> None:
        self.name = scene.name
        parts, shapes = scene._parts[1:], scene._shapes
        self.bodies = ["world"] + [p.name for p in parts]
        self.shapes = [name for _, name, _, _ in shapes]
        self.q_names = [p.name + end for p in parts for end in _ENDS[p.joint][0]]
        self.v_names = [p.name + end for p in parts for end in _ENDS[p.joint][1]]
        self.actuators = [name for name, _ in scene._actuators]
        self.activated = [False] * len(self.actuators)
        self._shape_at = [(s.body, np.array(list(s.position))) for s, _, _, _ in shapes]
        self._index()
        self._keep = [c_text(p.name) for p in parts], [keep for _, _, _, keep in shapes]
        self._bodies, self._c_shapes = ffi.new("perp_body[]", len(parts) + 1), ffi.new("perp_shape[]", len(shapes) + 1)
        for k, part in enumerate(parts):
            self._bodies[k] = part._body[0]
            self._bodies[k].name = self._keep[0][k]
        for k, (shape, _, _, _) in enumerate(shapes):
            self._c_shapes[k] = shape[0]

    def create(self, scene: Scene, options: Any) -> Any:
        out, diag = ffi.new("perp_bodies **"), Diagnostics()
        diag.check(lib.perp_bodies_create(self._bodies, len(self.bodies) - 1, self._c_shapes, len(self.shapes), options, out, diag.c))
        bodies = ffi.gc(out[0], lib.perp_bodies_destroy)
        self._add_laws(scene, bodies, diag)
        return bodies

    def _add_laws(self, scene: Scene, bodies: Any, diag: Diagnostics) -> None:
        for part in scene._parts[1:]:
            if part.joint != "fixed":
                diag.check(lib.perp_bodies_set_joint(bodies, part._number, part._law, diag.c))
        for _, actuator in scene._actuators:
            diag.check(lib.perp_bodies_add_actuator(bodies, actuator, diag.c))
        for equality in scene._equalities:
            diag.check(lib.perp_bodies_add_equality(bodies, equality, diag.c))
        for k, (_, _, collides, _) in enumerate(scene._shapes):
            if not collides:
                none = ffi.new("perp_contact_material *", {"dimension": 3})
                diag.check(lib.perp_bodies_set_contact_material(bodies, k, none))
        for a, b in scene._apart:
            diag.check(lib.perp_bodies_exclude_contacts(bodies, a, b))


class Scene(Shapes):
    """Bodies without a file.

    Parameters
    ----------
    name : str
        For messages.
    step, method, gravity, tol, restitution_threshold, density, viscosity, wind
        As of `Robot.start`; 0.002 s, "euler" and (0, 0, -9.81) m/s^2 by default.

    Attributes
    ----------
    world : Part
        What does not move.

    Examples
    --------
    >>> scene = perp.Scene(step=0.005)
    >>> ground = scene.plane(mu=0.6)
    >>> box = scene.box(size=(0.2, 0.2, 0.1), mass=2, pos=(0, 0, 0.1), name="box")
    >>> arm = scene.hinge(box, axis=(0, 1, 0), pos=(0, 0, 0.1), name="arm").capsule((0.02, 0.1), mass=0.1, pos=(0, 0, 0.1))
    >>> motor = scene.motor(arm)
    >>> s = scene.start()
    >>> s.ctrl[0] = 0.05
    >>> s.step(20)
    >>> bool(s["arm"] > 0), bool(abs(s["box.x"]) < 1e-9)
    (True, True)
    """

    @suggests
    def __init__(
        self,
        name: str = "scene",
        *,
        step: float | None = None,
        method: str | None = None,
        gravity: ArrayLike | None = None,
        tol: float | None = None,
        restitution_threshold: float | None = None,
        density: float | None = None,
        viscosity: float | None = None,
        wind: ArrayLike | None = None,
    ) -> None:
        self.name = word("name", name)
        self._options = ffi.new("perp_bodies_options *")
        lib.perp_bodies_options_fill(self._options, ffi.sizeof("perp_bodies_options"))
        set_options(self._options, step, method, gravity, tol, restitution_threshold, density, viscosity, wind)
        self.world = Part(self, 0, "world", "fixed")
        self._parts = [self.world]
        self._shapes: list[tuple[Any, str, bool, Any]] = []
        self._actuators: list[tuple[str, Any]] = []
        self._equalities: list[Any] = []
        self._apart: list[tuple[int, int]] = []
        self._system: _SceneSystem | None = None

    # Parts and shapes

    def _part(self, name: str, value: Part | None) -> int:
        """The number of a part of this scene; None: the world."""
        if value is None:
            return 0
        if not isinstance(value, Part):
            raise ArgumentError(f"{name}: a part of this scene is expected, not {kind(value)}")
        if value.scene is not self:
            raise ArgumentError(f"{name}: a part of this scene is expected, not one of another scene")
        return value._number

    def _new_name(self, what: str, given: str | None, taken: list[str]) -> str:
        if given is None:
            k = len(taken)
            while f"{what}{k}" in taken:
                k += 1
            return f"{what}{k}"
        if not word("name", given) or "\0" in given or not given.isprintable():
            raise ArgumentError(f"name: a name with printable letters is expected, not {given!r}")
        if given in taken:
            raise ArgumentError(f"name: {given!r} is taken")
        return given

    def _add_shape(self, shape: Any, name: str | None, collides: bool, keep: Any) -> None:
        name = self._new_name("shape", name, [n for _, n, _, _ in self._shapes])
        self._shapes.append((shape, name, collides, keep))
        self._system = None

    def _join(
        self,
        joint: str,
        parent: Part | None,
        pos: ArrayLike,
        quat: ArrayLike | None,
        name: str | None,
        axis: ArrayLike | None = None,
        range: ArrayLike | None = None,
        **laws: float,
    ) -> Part:
        up = self._part("parent", parent)
        name = self._new_name("body", name, [p.name for p in self._parts])
        part = Part(self, len(self._parts), name, joint)
        body, law = part._body, part._law
        body.parent, body.joint = up, getattr(lib, f"PERP_JOINT_{joint.upper()}")
        body.position, body.rotation = list(numbers("pos", pos, (3,))), _rotation(quat)
        if axis is not None:
            body.axis = list(numbers("axis", axis, (3,)))
            if not any(body.axis):
                raise ArgumentError("axis: a vector of length > 0 is expected")
        law.range = _range("range", range)
        for option, value in laws.items():
            to = body if option in ("damping", "armature") else law
            setattr(to, option, number(option, value) if option == "rest" else number(option, value, at_least=0))
        self._parts.append(part)
        self._system = None
        return part

    @suggests
    def free(self, pos: ArrayLike = (0, 0, 0), quat: ArrayLike | None = None, *, name: str | None = None) -> Part:
        """A body that moves freely; pos and quat: its start in the world.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.free(pos=(0, 0, 1)).box((0.1, 0.1, 0.1), mass=1)
        <part 'body1' on a free joint>
        """
        return self._join("free", None, pos, quat, name)

    @suggests
    def fixed(
        self, parent: Part | None = None, pos: ArrayLike = (0, 0, 0), quat: ArrayLike | None = None, *, name: str | None = None
    ) -> Part:
        """A body that moves with its parent.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> arm = scene.hinge(name="arm")
        >>> scene.fixed(arm, pos=(0, 0, 0.3), name="hand").sphere(0.05, mass=1)
        <part 'hand' on a fixed joint>
        """
        return self._join("fixed", parent, pos, quat, name)

    @suggests
    def ball(
        self,
        parent: Part | None = None,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        damping: float = 0,
        armature: float = 0,
        friction: float = 0,
        name: str | None = None,
    ) -> Part:
        """A body that turns about its origin.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.ball(pos=(0, 0, 1), damping=0.1).sphere(0.1, mass=1, pos=(0, 0, -0.5))
        <part 'body1' on a ball joint>
        """
        return self._join("ball", parent, pos, quat, name, damping=damping, armature=armature, friction=friction)

    @suggests
    def hinge(
        self,
        parent: Part | None = None,
        axis: ArrayLike = (0, 0, 1),
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        range: ArrayLike | None = None,
        damping: float = 0,
        armature: float = 0,
        friction: float = 0,
        stiffness: float = 0,
        rest: float = 0,
        name: str | None = None,
    ) -> Part:
        """A body that turns about an axis through its origin.

        Parameters
        ----------
        parent : Part, optional
            The world by default.
        axis : array_like
            (3,), in its own frame.
        pos, quat : array_like
            Its origin [m] and rotation in the parent where q is 0.
        range : array_like, optional
            (lower, upper) of q [rad]; one may be infinite.
        damping, armature, friction, stiffness, rest : float
            As of `perp_body` and `perp_joint_law` [N m s, kg m^2, N m, N m/rad, rad].
        name : str, optional
            q is `name`, v is `name.v`.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> door = scene.hinge(axis=(0, 0, 1), range=(0, 1.5), friction=0.1, name="door")
        >>> door.box((0.4, 0.02, 1), mass=20, pos=(0.4, 0, 1)).joint
        'hinge'
        """
        return self._join(
            "hinge",
            parent,
            pos,
            quat,
            name,
            axis,
            range,
            damping=damping,
            armature=armature,
            friction=friction,
            stiffness=stiffness,
            rest=rest,
        )

    @suggests
    def slide(
        self,
        parent: Part | None = None,
        axis: ArrayLike = (0, 0, 1),
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        range: ArrayLike | None = None,
        damping: float = 0,
        armature: float = 0,
        friction: float = 0,
        stiffness: float = 0,
        rest: float = 0,
        name: str | None = None,
    ) -> Part:
        """A body that moves along an axis; parameters as of `hinge` [m, N s/m, kg, N, N/m].

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.slide(axis=(1, 0, 0), range=(-1, 1)).box((0.1, 0.1, 0.1), mass=1).joint
        'slide'
        """
        return self._join(
            "slide",
            parent,
            pos,
            quat,
            name,
            axis,
            range,
            damping=damping,
            armature=armature,
            friction=friction,
            stiffness=stiffness,
            rest=rest,
        )

    @suggests
    def plane(
        self,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike | None = None,
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        name: str | None = None,
    ) -> Part:
        """The ground: all below z = 0 of its frame. Returns the world.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.plane(mu=0.6)
        <the world>
        """
        return self.world._add("plane", None, 0, pos, quat, _surface({**locals(), "collides": True}))

    @suggests
    def field(
        self,
        heights: ArrayLike,
        half: ArrayLike,
        pos: ArrayLike = (0, 0, 0),
        *,
        mu: float = 0,
        restitution: float = 0,
        torsional_friction: float = 0,
        rolling_friction: float = 0,
        name: str | None = None,
    ) -> Part:
        """Ground by heights over a grid, (nx, ny) [m], from -half to half (2,) [m]. Returns the world.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.field(0.1*np.random.default_rng(1).random((20, 30)), half=(2, 3), mu=0.6)
        <the world>
        """
        array, sides = numbers("heights", heights, (-1, -1)), numbers("half", half, (2,))
        if min(array.shape) < 2:
            raise ArgumentError(f"heights: at least (2, 2) are expected, not {shape_text(array.shape)}")
        if not (sides > 0).all():
            raise ArgumentError("half: numbers > 0 are expected")
        flat, out, diag = np.ascontiguousarray(array.T), ffi.new("perp_field **"), Diagnostics()
        nx, ny = array.shape
        diag.check(lib.perp_field_create(doubles(flat), nx, ny, doubles(sides), out, diag.c))
        surface = _surface({**locals(), "collides": True})
        return self.world._add("field", None, 0, pos, None, surface, ffi.gc(out[0], lib.perp_field_destroy))

    def _add(
        self, what: str, size: Any, mass: float, pos: ArrayLike, quat: ArrayLike | None, surface: dict[str, Any], keep: Any = None
    ) -> Part:
        """A free body with this shape, which is named after it."""
        number("mass", mass, above=0)
        parts, name = len(self._parts), surface.pop("name")
        part = self.free(pos, quat, name=name)
        try:
            return part._add(what, size, mass, (0, 0, 0), None, surface, keep)
        except BaseException:
            del self._parts[parts:]
            raise

    # Actuators, loops, contacts

    def _actuate(self, part: Part, name: str | None, control_range: Any, force_range: Any, **fields: float) -> str:
        k = self._part("part", part)
        if part is None:
            raise ArgumentError("part: a part of this scene is expected, not NoneType")
        if part.joint not in ("hinge", "slide"):
            raise ArgumentError(f"part: one on a hinge or a slide is expected; {part.name!r} is on a {part.joint} joint")
        name = self._new_name("actuator", name, [n for n, _ in self._actuators])
        actuator = ffi.new("perp_actuator *", {"body": k, **fields})
        actuator.control_range, actuator.force_range = _range("control_range", control_range), _range("force_range", force_range)
        self._actuators.append((name, actuator))
        self._system = None
        return name

    @suggests
    def motor(
        self,
        part: Part,
        gear: float = 1,
        *,
        control_range: ArrayLike | None = None,
        force_range: ArrayLike | None = None,
        name: str | None = None,
    ) -> str:
        """A motor at a hinge or slide: its force is gear times the control [N m, N].

        Returns
        -------
        str
            Its name: the control is `s[name + ".u"]`.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.motor(scene.hinge(), gear=5, control_range=(-1, 1), name="drive")
        'drive'
        """
        gear = number("gear", gear)
        if gear == 0:
            raise ArgumentError("gear: a number other than 0 is expected")
        return self._actuate(part, name, control_range, force_range, gear=gear, gain=1)

    @suggests
    def position(
        self,
        part: Part,
        kp: float,
        kv: float = 0,
        *,
        control_range: ArrayLike | None = None,
        force_range: ArrayLike | None = None,
        name: str | None = None,
    ) -> str:
        """A position servo: its force is kp (u - q) - kv v, and never too stiff for the step. Returns its name.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.position(scene.hinge(), kp=100, kv=5)
        'actuator0'
        """
        kp, kv = number("kp", kp, above=0), number("kv", kv, at_least=0)
        return self._actuate(part, name, control_range, force_range, gear=1, gain=kp, kp=kp, kv=kv)

    @suggests
    def velocity(
        self,
        part: Part,
        kv: float,
        *,
        control_range: ArrayLike | None = None,
        force_range: ArrayLike | None = None,
        name: str | None = None,
    ) -> str:
        """A velocity servo: its force is kv (u - v). Returns its name.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> scene.velocity(scene.hinge(), kv=5)
        'actuator0'
        """
        kv = number("kv", kv, above=0)
        return self._actuate(part, name, control_range, force_range, gear=1, gain=kv, kv=kv)

    @suggests
    def connect(self, a: Part, b: Part | None, point_a: ArrayLike = (0, 0, 0), point_b: ArrayLike = (0, 0, 0)) -> None:
        """A point of `a` stays on a point of `b` (None: the world), each (3,) in the frame of its part [m].

        Examples
        --------
        >>> scene = perp.Scene()
        >>> bar = scene.box((0.5, 0.02, 0.02), mass=1)
        >>> scene.connect(bar, None, (0.5, 0, 0), (0.5, 0, 0))
        """
        self._equal("connect", a, b, point_a, point_b)

    @suggests
    def weld(self, a: Part, b: Part | None, point_a: ArrayLike = (0, 0, 0), point_b: ArrayLike = (0, 0, 0)) -> None:
        """Two points stay together, and the rotations of `a` and `b` (None: the world) equal.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> a, b = scene.box((0.1, 0.1, 0.1), mass=1), scene.box((0.1, 0.1, 0.1), mass=1, pos=(0.3, 0, 0))
        >>> scene.weld(a, b, (0.3, 0, 0))
        """
        self._equal("weld", a, b, point_a, point_b)

    def _equal(self, what: str, a: Part, b: Part | None, point_a: ArrayLike, point_b: ArrayLike) -> None:
        numbers_ = [self._part("a", a), self._part("b", b)]
        if numbers_[0] == numbers_[1]:
            raise ArgumentError("b: another part than a is expected")
        points = [list(numbers("point_a", point_a, (3,))), list(numbers("point_b", point_b, (3,)))]
        kinds = {"connect": lib.PERP_EQUALITY_CONNECT, "weld": lib.PERP_EQUALITY_WELD}
        self._equalities.append(ffi.new("perp_equality *", {"kind": kinds[what], "body": numbers_, "point": points}))
        self._system = None

    @suggests
    def exclude(self, a: Part, b: Part | None = None) -> None:
        """The shapes of two parts (None: the world) make no contacts with each other.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> a, b = scene.sphere(0.1, mass=1), scene.sphere(0.1, mass=1, pos=(0.1, 0, 0))
        >>> scene.exclude(a, b)
        """
        self._apart.append((self._part("a", a), self._part("b", b)))
        self._system = None

    # States

    @suggests
    def start(self, *, assemble: bool = True) -> State:
        """A state at the start.

        Parameters
        ----------
        assemble : bool
            Move an impossible pose to the nearest possible one; `State.assembly` reports it.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> ball = scene.sphere(0.1, mass=1, name="ball")
        >>> s = scene.start()
        >>> s.step(100)
        >>> round(s["ball.vz"], 3)
        -1.962
        """
        if len(self._parts) == 1:
            raise ArgumentError("the scene has no bodies")
        system = self._system = self._system or _SceneSystem(self)
        return State._start(system, system.create(self, self._options), assemble)

    @suggests
    def batch(self, n: int, threads: int = 0) -> Batch:
        """Copies of the start, stepped by threads; as `Robot.batch`.

        Examples
        --------
        >>> scene = perp.Scene()
        >>> ball = scene.sphere(0.1, mass=1)
        >>> scene.batch(10, threads=2).q.shape
        (10, 7)
        """
        return self.start().batch(n, threads)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a scene cannot be pickled")

    def __repr__(self) -> str:
        return f"<scene {self.name}: {len(self._parts) - 1} bodies, {len(self._shapes)} shapes, {len(self._actuators)} actuators>"
