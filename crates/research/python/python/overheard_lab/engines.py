"""What runs the tasks of a sweep: threads of this process, a Dask cluster, or a Ray cluster."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from ._native import LabError
from .tasks import WrongVersion, run_task

Task = dict[str, Any]
Done = Iterator[tuple[int, dict[str, Any]]]
Run = Callable[[Task], dict[str, Any]]
RETRIES = 5
"""How often a task runs again whose worker was lost."""


def local(tasks: list[Task], workers: int | None, address: str | None, run: Run = run_task) -> Done:
    """Threads of this process, one for each processor; kernels are processes of their own."""
    count = workers or len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(count) as pool:
        running = {pool.submit(run, task): number for number, task in enumerate(tasks)}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except KeyboardInterrupt:
            print("interrupted: the runs that have begun end first", file=sys.stderr)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def dask(tasks: list[Task], workers: int | None, address: str | None, run: Run = run_task) -> Done:
    """A Dask cluster at this address (`tcp://HOST:8786`); without one, a cluster of this machine."""
    try:
        from distributed import Client, KilledWorker
        from distributed import as_completed as completed
    except ImportError:
        raise LabError("the engine dask is not installed: pip install 'overheard-lab[dask]'") from None
    # Workers that end complain of their lost connection; what a task says comes by its future.
    here = {"n_workers": workers or os.cpu_count() or 1, "threads_per_worker": 1, "silence_logs": logging.CRITICAL}
    client = Client(address) if address else Client(**here)
    try:
        # Not pure: a task that failed on one cluster is not taken from its memory.
        futures = client.map(run, tasks, retries=RETRIES, pure=False)
        numbers = {future.key: number for number, future in enumerate(futures)}
        for future in completed(futures):
            try:
                yield numbers[future.key], future.result()
            except KilledWorker as error:
                raise LabError(f"workers were lost again and again at one task: {error}") from None
    finally:
        client.close()


def ray(tasks: list[Task], workers: int | None, address: str | None, run: Run = run_task) -> Done:
    """A Ray cluster at this address (`auto` finds this machine's); without one, a cluster of this machine."""
    try:
        import ray as engine
    except ImportError:
        raise LabError("the engine ray is not installed: pip install 'overheard-lab[ray]'") from None
    begun = not engine.is_initialized()
    if begun:
        engine.init(address=address or "local", num_cpus=None if address else workers, log_to_driver=False)
    try:
        remote = engine.remote(max_retries=RETRIES, retry_exceptions=False)(run)
        waiting = {remote.remote(task): number for number, task in enumerate(tasks)}
        while waiting:
            ready, _ = engine.wait(list(waiting), num_returns=1)
            for reference in ready:
                number = waiting.pop(reference)
                try:
                    yield number, engine.get(reference)
                except engine.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, LabError) else error
                except engine.exceptions.WorkerCrashedError as error:
                    raise LabError(f"workers were lost again and again at one task: {error}") from None
    finally:
        if begun:
            engine.shutdown()


ENGINES: dict[str, Callable[..., Done]] = {"local": local, "dask": dask, "ray": ray}
__all__ = ["ENGINES", "WrongVersion"]
