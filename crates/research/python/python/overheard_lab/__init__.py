"""A laboratory for slow, lossy, shared links: real kernels in virtual time.

A `Scenario` describes places, links, programs, traffic and faults. `Scenario.run` runs it and gives `Results`, whose
tables are Arrow tables. `sweep` runs a grid of scenarios on this machine, on Dask or on Ray.
"""

from ._native import LabError
from .contents import Content, Experiment, File, Random, Text
from .links import BitErrors, Bernoulli, CoDel, GilbertElliott, Link, Policer, Receptions, SimpleGilbert, TimedGilbert
from .links import bottleneck, preset
from .results import Results, estimate
from .scenario import Scenario
from .store import Store
from .sweeps import Sweep, sweep
from .version import ROWS_SCHEMA, __version__

__all__ = [
    "BitErrors",
    "Bernoulli",
    "CoDel",
    "Content",
    "Experiment",
    "File",
    "GilbertElliott",
    "LabError",
    "Link",
    "Policer",
    "ROWS_SCHEMA",
    "Random",
    "Receptions",
    "Results",
    "Scenario",
    "SimpleGilbert",
    "Store",
    "Sweep",
    "Text",
    "TimedGilbert",
    "__version__",
    "bottleneck",
    "estimate",
    "preset",
    "sweep",
]
