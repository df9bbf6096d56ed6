"""What the examples with sweeps share: their options, their kept rows, and medians of seconds."""

import argparse
import json
import subprocess
from statistics import median

import overheard_lab.programs


def options(description, store):
    """A parser of the options that every sweep has. `store` is the usual folder of results."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--address")
    parser.add_argument("--store", default=store)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--table", action="store_true")
    return parser


def read(path):
    """The kept lines of a file: one about the run, then the rows."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def cell(seconds, bound):
    """The median as a table has it. None is a run that took longer than `bound` seconds."""
    value = median(float("inf") if it is None else it for it in seconds)
    return f"{value:.2f}" if value < float("inf") else f"longer than {bound}"


def kernel():
    """The virtual-time kernel and its version."""
    said = subprocess.run([overheard_lab.programs.kernel(), "--version"], capture_output=True, text=True)
    return f"User-Mode Linux {said.stdout.strip()}"
