"""Outcomes as Arrow tables, one row a download, stream, fetch, exchange, link direction, station or
simulated flow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from . import _native

Row = dict[str, Any]


class Results:
    """The outcomes of runs. `outcomes` has everything that was measured; the tables have what figures need."""

    def __init__(self, outcomes: list[Row], cells: list[Row] | None = None) -> None:
        self.outcomes = outcomes
        self.cells = cells or [{} for _ in outcomes]

    def warn(self) -> Results:
        """Warns of downloads and exchanges that did not arrive whole, and of streams that sent nothing."""
        for what, column, complaint in _COMPLAINTS:
            values = [row[column] for row in self.rows(what)]
            if failed := sum(not value for value in values):
                warnings.warn(f"{failed} of {len(values)} {what} {complaint}", stacklevel=3)
        return self

    def table(self, what: str) -> pa.Table:
        """`downloads`, `streams`, `fetches`, `exchanges`, `links`, `stations` or `sim`: columns of the cell, the seed, and the measurements."""
        rows = list(self.rows(what))
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return pa.table({column: [row.get(column) for row in rows] for column in columns})

    def rows(self, what: str) -> Iterator[Row]:
        """The rows of `table`, as dictionaries."""
        if what not in _ROWS:
            raise _native.LabError(f"no table is called {what!r}; there are {', '.join(_ROWS)}")
        for cell, outcome in zip(self.cells, self.outcomes):
            head = {"scenario": outcome["scenario"], **cell, "seed": outcome["seed"]}
            for row in _ROWS[what](outcome):
                yield {**head, **row}

    @property
    def downloads(self) -> pa.Table:
        """Each download: how it ended, its seconds and octets."""
        return self.table("downloads")

    @property
    def streams(self) -> pa.Table:
        """Each UDP stream: what arrived, and when."""
        return self.table("streams")

    @property
    def fetches(self) -> pa.Table:
        """Each content that a web user fetched."""
        return self.table("fetches")

    @property
    def exchanges(self) -> pa.Table:
        """Each exchange over TCP: how it ended, its seconds and octets."""
        return self.table("exchanges")

    @property
    def links(self) -> pa.Table:
        """Each direction of each link, and what crossed it."""
        return self.table("links")

    @property
    def stations(self) -> pa.Table:
        """Each station of each channel, and each member of each Wi-Fi network: what it put on the air."""
        return self.table("stations")

    @property
    def sim(self) -> pa.Table:
        """Each simulated flow."""
        return self.table("sim")

    def chart(self, x: str, y: str, series: str | None = None, what: str | None = None, ax: Any = None) -> Any:
        """Medians over the seeds as curves, by matplotlib; bars reach from the least to the largest value.

        Downloads and exchanges that did not arrive whole are left out, and so is a point that has no other.
        """
        from .charts import chart

        return chart(self, x, y, series, what or self._usual(), ax)

    def _usual(self) -> str:
        return next((what for what in ("sim", "downloads", "streams") if next(self.rows(what), None)), "links")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table(self._usual()).to_pandas().to_html(max_rows=20, index=False)


def _simulated(outcome: Row) -> Iterator[Row]:
    if "sim" in outcome:
        yield {key: value for key, value in outcome["sim"].items() if not isinstance(value, dict)}


def _downloads(outcome: Row) -> Iterator[Row]:
    for number, download in enumerate(outcome.get("downloads", [])):
        yield {"download": number, "whole": download["ending"] == "complete" and download["intact"], **download}


def _streams(outcome: Row) -> Iterator[Row]:
    for number, stream in enumerate(outcome.get("streams", [])):
        delays = {f"delay_{key}": value if stream["received"] else None for key, value in stream["delay"].items()}
        row = {"stream": number, **stream, **delays}
        row.pop("delay")
        lost = 1 - stream["received"] / stream["sent"] if stream["sent"] else None
        yield {**row, "lost_share": lost}


def _fetches(outcome: Row) -> Iterator[Row]:
    for number, fetched in enumerate(outcome.get("fetches", [])):
        yield from ({"client": number, **fetch} for fetch in fetched)


def _exchanges(outcome: Row) -> Iterator[Row]:
    for number, exchange in enumerate(outcome.get("exchanges", [])):
        yield {"exchange": number, "whole": exchange["ending"] == "complete" and exchange["intact"], **exchange}


def _links(outcome: Row) -> Iterator[Row]:
    for link in outcome.get("links", []):
        for direction in ("forward", "backward"):
            yield {"link": link["name"], "direction": direction, **_counts(link[direction])}


def _stations(outcome: Row) -> Iterator[Row]:
    for channel in outcome.get("channels", []):
        for number, station in enumerate(channel["stations"], 1):
            yield {"channel": channel["name"], "host": number, **_counts(station)}


def _counts(counted: Row) -> Row:
    row: Row = {}
    for what, count in counted.items():
        row |= {f"{what}_{unit}": number for unit, number in count.items()} if isinstance(count, dict) else {what: count}
    return row


_COMPLAINTS = (
    ("downloads", "whole", "did not arrive whole: the column `ending` of `downloads` says why"),
    ("exchanges", "whole", "did not arrive whole: the column `ending` of `exchanges` says why"),
    ("streams", "sent", "sent nothing: their address has no route"),
)

_ROWS: dict[str, Callable[[Row], Iterator[Row]]] = {
    "downloads": _downloads,
    "streams": _streams,
    "fetches": _fetches,
    "exchanges": _exchanges,
    "links": _links,
    "stations": _stations,
    "sim": _simulated,
}


def estimate(kind: str, sample: list[float], other: list[float] | None = None) -> tuple[float, tuple[float, float] | None] | None:
    """`mean`, `median`, `paired-ratio` or `paired-median`, and its 95% interval, as the reports have them."""
    return _native.estimate(kind, [float(it) for it in sample], None if other is None else [float(it) for it in other])
