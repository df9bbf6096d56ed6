"""What an engine adds to a task: a thousand empty tasks of 3 kB, with the start of the engine.

    python overhead.py ENGINE [--address ADDRESS] [--keep]
    python overhead.py --table

--keep writes the time to engines.jsonl beside this file; --table prints what is kept as the tables of docs/python.md.
"""

import argparse
import importlib.metadata
import json
import os
import time
from pathlib import Path

from overheard_lab.engines import ENGINES

KEPT = Path(__file__).with_name("engines.jsonl")
PACKAGES = {"local": "overheard_lab", "dask": "distributed", "ray": "ray"}
COUNT = 1000
CELLS = 10_000
CELL_SECONDS = 10


def tasks():
    return [{"number": number, "description": "x" * 3000} for number in range(COUNT)]


def nothing(task):
    return {"number": task["number"]}


def measure(engine, address):
    """The engine's row: seconds of a task, from the start of the engine to the last result."""
    began = time.monotonic()
    ended = sum(1 for _ in ENGINES[engine](tasks(), 2, address, nothing))
    took = time.monotonic() - began
    version = importlib.metadata.version(PACKAGES[engine])
    return {"engine": engine, "version": version, "cores": os.cpu_count(), "tasks": ended, "seconds_each": round(took / ended, 5)}


def kept():
    lines = KEPT.read_text().splitlines() if KEPT.is_file() else []
    return {row["engine"]: row for row in map(json.loads, lines)}


def keep(row):
    rows = {**kept(), row["engine"]: row}
    KEPT.write_text("".join(json.dumps(rows[engine]) + "\n" for engine in ENGINES if engine in rows))


def time_of(seconds):
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"


def table():
    """The kept rows as Markdown: what was measured, and what follows from it for many workers."""
    rows = [row for engine, row in kept().items() if engine != "local"]
    lines = ["| engine | version | cores | tasks | seconds a task | of a cell of 10 s |", "|---|---|---|---|---|---|"]
    for row in rows:
        share = row["seconds_each"] / CELL_SECONDS
        lines.append(f"| {row['engine']} | {row['version']} | {row['cores']} | {row['tasks']} | {row['seconds_each']:.3f} | {share:.2%} |")
    lines += ["", f"On paper, {CELLS:,} cells of {CELL_SECONDS} s take:", ""]
    lines += ["| workers | " + " | ".join(row["engine"] for row in rows) + " |", "|---|" + "---|" * len(rows)]
    for workers in (1, 100, 1000):
        times = [time_of(CELLS * max(CELL_SECONDS / workers, row["seconds_each"])) for row in rows]
        lines.append(f"| {workers:,} | " + " | ".join(times) + " |")
    most = [f"{CELL_SECONDS / row['seconds_each']:.0f}" for row in rows]
    lines.append("| more workers do not help from | " + " | ".join(most) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", nargs="?", choices=list(ENGINES))
    parser.add_argument("--address")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(), end="")
    elif options.engine:
        row = measure(options.engine, options.address)
        print(json.dumps(row))
        if options.keep:
            keep(row)
    else:
        parser.error("name an engine, or --table")


if __name__ == "__main__":
    main()
