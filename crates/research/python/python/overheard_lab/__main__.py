"""`python -m overheard_lab`: sweeps from files, in parts, for those who have only a queue of jobs.

A sweep's file is a Python program with a `Sweep` in its variable `SWEEP`.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from ._native import LabError
from .engines import ENGINES
from .store import Store
from .sweeps import Sweep


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m overheard_lab", description="Run sweeps, in parts if need be.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("sweep", help="run a sweep, or a part of it")
    run.add_argument("file", type=Path, help="a Python program with a Sweep in its variable SWEEP")
    run.add_argument("--store", default="results", help="the folder of kept results (default: results)")
    run.add_argument("--engine", choices=list(ENGINES), default="local", help="what runs the tasks")
    run.add_argument("--address", help="the cluster: tcp://HOST:8786 for dask, auto or HOST:6379 for ray")
    run.add_argument("--workers", type=int, help="how many tasks at a time, without a cluster")
    run.add_argument("--shard", type=_shard, default=(1, 1), metavar="3/16", help="only this part of the tasks")
    rows = commands.add_parser("rows", help="print the rows of a sweep whose runs are all kept")
    rows.add_argument("file", type=Path)
    rows.add_argument("--store", default="results")
    merge = commands.add_parser("merge", help="gather several folders of results in one")
    merge.add_argument("store", help="the folder that gets all of them")
    merge.add_argument("others", nargs="+")
    papers = commands.add_parser("reproduce", help="run what of the papers fits into some core-hours, on a cluster")
    papers.add_argument("--hours", type=float, default=1.0)
    papers.add_argument("--engine", choices=list(ENGINES), default="local")
    papers.add_argument("--address")
    papers.add_argument("--workers", type=int)
    papers.add_argument("--report", default="reproduction")
    commands.add_parser("identity", help="print what workers are compared by")
    options = parser.parse_args(arguments)
    try:
        _run(options)
    except LabError as error:
        print(f"overheard_lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("overheard_lab: interrupted; what was kept is not run again", file=sys.stderr)
        return 130
    return 0


def _run(options: argparse.Namespace) -> None:
    match options.command:
        case "sweep":
            sweep, store = _load(options.file), Store(options.store)
            how = {"workers": options.workers, "address": options.address, "shard": options.shard}
            ran = sweep.run(store, options.engine, **how)
            print(f"{ran} runs; {options.store} keeps {len(store)}")
        case "rows":
            sys.stdout.buffer.write(_load(options.file).rows(Store(options.store, there=True)))
        case "merge":
            others = [Store(other, there=True) for other in options.others]
            store = Store(options.store)
            new = sum(store.merge(other) for other in others)
            print(f"{new} new results; {options.store} keeps {len(store)}")
        case "reproduce":
            from .reproduction import reproduce

            reproduce(options.hours, options.engine, options.report, options.workers, options.address)
        case "identity":
            from .programs import identity

            print(identity())


def _load(file: Path) -> Sweep:
    if not file.is_file():
        raise LabError(f"there is no file {file}")
    sweep = runpy.run_path(str(file)).get("SWEEP")
    if not isinstance(sweep, Sweep):
        raise LabError(f"{file} has no Sweep in its variable SWEEP")
    return sweep


def _shard(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if not (slash and number.isdigit() and count.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no part such as 3/16")
    return int(number), int(count)


if __name__ == "__main__":
    sys.exit(main())
