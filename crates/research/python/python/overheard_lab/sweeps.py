"""Sweeps: a scenario for each cell of a grid, run with each seed; one task a cell and seed."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._native import LabError
from .engines import ENGINES
from .results import Results
from .scenario import Scenario, _seeds
from .store import Store, canonical, key
from .tasks import task

Cell = dict[str, Any]


class Sweep:
    """A described sweep. Its tasks have a fixed order, whatever runs them."""

    def __init__(self, build: Callable[..., Scenario], grid: Mapping[str, Iterable[Any]] | Iterable[Cell], seeds: Iterable[int], driver: str = "virtual") -> None:
        """`build` makes the scenario of a cell, from its keys. A grid is axes, or a list of cells."""
        if isinstance(grid, Mapping):
            for name, values in grid.items():
                if not isinstance(values, Iterable) or isinstance(values, str):
                    raise LabError(f"the axis {name!r} of the grid has several values, such as [{values!r}], and not {values!r}")
            axes = {name: list(values) for name, values in grid.items()}
            cells = [dict(zip(axes, values)) for values in itertools.product(*axes.values())]
        else:
            cells = [dict(cell) for cell in grid]
        wanted = _seeds(seeds)
        self.cells: list[Cell] = []
        self.tasks: list[dict[str, Any]] = []
        for cell in cells:
            scenario = build(**cell)
            if not isinstance(scenario, Scenario):
                raise LabError(f"`build` returned {scenario!r} for {cell}, and no Scenario: does it end with `return`?")
            description = scenario.check().describe()
            for seed in wanted:
                self.cells.append(cell)
                self.tasks.append(task(description, seed, driver))
        self.keys = [key(it) for it in self.tasks]
        if len(set(self.keys)) != len(self.keys):
            twice = next(it for it in self.keys if self.keys.count(it) > 1)
            raise LabError(f"two cells of the grid are one scenario, such as {self.cells[self.keys.index(twice)]}")

    def run(self, store: Store, engine: str = "local", *, workers: int | None = None, address: str | None = None, shard: tuple[int, int] = (1, 1), progress: bool = True) -> int:
        """Runs the tasks that the store lacks, and returns how many. `shard` (3, 16) is the third of 16 parts."""
        if engine not in ENGINES:
            raise LabError(f"no engine is called {engine!r}; there are {', '.join(ENGINES)}")
        number, count = shard
        if not 1 <= number <= count:
            raise LabError(f"there is no shard {number}/{count}: the first is 1/{count}, and the last {count}/{count}")
        mine = range(number - 1, len(self.tasks), count)
        missing = [index for index in mine if store.get(self.keys[index]) is None]
        if not missing:
            return 0
        from tqdm.auto import tqdm

        with tqdm(total=len(missing), unit="run", disable=not progress, leave=False) as bar:
            for position, outcome in ENGINES[engine]([self.tasks[index] for index in missing], workers, address):
                store.put(self.keys[missing[position]], outcome)
                bar.update()
        return len(missing)

    def results(self, store: Store) -> Results:
        """The outcomes of all tasks, in their order."""
        outcomes = [store.get(it) for it in self.keys]
        if missing := outcomes.count(None):
            raise LabError(f"{missing} of {len(outcomes)} runs are not in {store.folder}: run the sweep again, or merge")
        return Results([it for it in outcomes if it is not None], self.cells)

    def rows(self, store: Store) -> bytes:
        """Everything that was measured, one line of JSON a task: equal bytes for `sim` and `virtual`, on any engine."""
        outcomes = self.results(store).outcomes
        return b"".join(canonical({"cell": cell, **outcome}) + b"\n" for cell, outcome in zip(self.cells, outcomes))

    def digest(self, store: Store) -> str:
        """The SHA-256 of `rows`."""
        return hashlib.sha256(self.rows(store)).hexdigest()


def sweep(build: Callable[..., Scenario], grid: Mapping[str, Iterable[Any]] | Sequence[Cell], seeds: Iterable[int] = range(1, 4), engine: str = "local", *, driver: str = "virtual", store: str | Path = "results", workers: int | None = None, address: str | None = None, progress: bool = True) -> Results:
    """Runs a grid, keeps each result in the folder `store`, and returns all of them. What is kept does not run again."""
    described, kept = Sweep(build, grid, seeds, driver), Store(store)
    described.run(kept, engine, workers=workers, address=address, progress=progress)
    return described.results(kept).warn()
