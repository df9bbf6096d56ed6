"""Charts of results, by matplotlib."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from ._native import LabError

if TYPE_CHECKING:
    from .results import Results


def chart(results: Results, x: str, y: str, series: str | None, what: str, ax: Any) -> Any:
    """One curve a value of `series`: the median at each `x`, and bars to the least and the largest value."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise LabError("charts need matplotlib: pip install 'overheard-lab[charts]'") from None
    curves: dict[Any, dict[Any, list[float]]] = {}
    for row in results.rows(what):
        for column in filter(None, (x, y, series)):
            if column not in row:
                raise LabError(f"the table {what} has no column {column!r}; it has {', '.join(row)}")
        if row[y] is not None and row.get("whole", True):
            curves.setdefault(row[series] if series else y, {}).setdefault(row[x], []).append(float(row[y]))
    ax = ax or plt.figure(figsize=(7.2, 4), layout="constrained").add_subplot()
    for name, points in curves.items():
        places = sorted(points)
        middle = [median(points[place]) for place in places]
        below = [at - min(points[place]) for at, place in zip(middle, places)]
        above = [max(points[place]) - at for at, place in zip(middle, places)]
        ax.errorbar(places, middle, yerr=[below, above], marker="o", capsize=3, label=str(name))
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(alpha=0.3)
    if series:
        # Beside the curves, none of which it may hide.
        ax.legend(title=series, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    return ax
