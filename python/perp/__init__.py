"""perp: systems with unilateral contact and Coulomb friction, stated as complementarity, 0 <= lambda perp gap >= 0.

    import perp
    m = perp.Model("block.perp")
    run = m.simulate(to=5, step=1e-3, mu=0.3)
    run.t, run["x"]

Model      a model of the language: simulate, start, copies, plan, identify, check
Robot      a robot from an MJCF or URDF file: start, batch; a State has q, v, ctrl, contacts, M, jacobian
Scene      bodies without a file: box, sphere, hinge, motor, ..; start, batch
lcp, mcp, friction, lcp_batch      arrays in, answer out
sweep      a model at many points, by processes or on a cluster
read       a table: a run, a plan, recorded data
limit_memory, memory_held      what the library may hold, and what it holds [bytes]
perp.torch, perp.jax      steps, runs and problems as differentiable functions

What cannot be done raises a perp.Error, with file, line and column where there are; what a search came to is a word, `outcome`.
Every step, plan and answer was verified by code that belongs to no solver.
"""

from ._checks import UnknownNameError
from ._library import ArgumentError, DataError, Error, FileError, ModelError, NoSolutionError, UnavailableError
from ._library import lib as _lib
from ._library import limit_memory as limit_memory
from ._library import memory_held as memory_held
from ._library import text as _text
from ._table import Table, read
from .batches import Batch, BatchBody
from .bodies import Body, BusyError, State
from .copies import Copies
from .identification import Fit
from .model import Model, Run, Symbol
from .planning import Plan
from .problems import Solution, friction, lcp, lcp_batch, mcp
from .robots import Ignored, Robot
from .scenes import Part, Scene
from .simulation import Impact, Simulation
from .sweeps import Sweep, sweep
from .systems import Assembly, StepInfo

__version__: str = _text(_lib.perp_version())

__all__ = [
    "ArgumentError",
    "Assembly",
    "Batch",
    "BatchBody",
    "Body",
    "BusyError",
    "Copies",
    "DataError",
    "Error",
    "FileError",
    "Fit",
    "Ignored",
    "Impact",
    "Model",
    "ModelError",
    "NoSolutionError",
    "Part",
    "Plan",
    "Robot",
    "Run",
    "Scene",
    "Simulation",
    "Solution",
    "State",
    "StepInfo",
    "Sweep",
    "Symbol",
    "Table",
    "UnavailableError",
    "UnknownNameError",
    "friction",
    "lcp",
    "lcp_batch",
    "limit_memory",
    "mcp",
    "memory_held",
    "read",
    "sweep",
]
