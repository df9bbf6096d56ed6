"""Runs experiments on the Python face and by `overheard-lab experiment`, and compares their rows.

    python same_rows.py [section_7 sim] [figure_6 virtual] [links virtual]
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path

from overheard_lab import _native, programs

ALL = [("section_7", "sim"), ("figure_6", "virtual"), ("links", "virtual")]


def experiment(module, driver, *further):
    """What `overheard-lab experiment` says to the module's command."""
    command = [programs.find("overheard-lab"), "experiment", *module.COMMAND, "--driver", driver, "--quick", *further]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def plain(scenario):
    """A scenario of the laboratory without what rows cannot depend on: its name, its seeds, and folders of files."""
    scenario = json.loads(_native.written(json.dumps(scenario)))
    for content in scenario["contents"]:
        content["file"] = Path(content["file"]).name
    for daemon in scenario["daemons"]:
        lines = daemon["config"].splitlines()
        daemon["config"] = [line.replace(line.split('"')[1], Path(line.split('"')[1]).name) if '_file = "' in line else line for line in lines]
    return {key: value for key, value in scenario.items() if key not in ("name", "seeds")}


def ours(scenario):
    """The same of a scenario of this face. Its contents have the experiments' lengths where theirs are slices."""
    described = scenario.describe()
    contents = [{"name": name, "file": name, "length_bytes": content.get("random")} for name, content in described["contents"].items()]
    return plain({**described["scenario"], "contents": contents})


def missing(name, driver="virtual"):
    """Scenarios of an example that the experiment lacks: equal scenarios are equal rows."""
    module = importlib.import_module(name)
    theirs = [plain(json.loads(line)) for line in experiment(module, driver, "--scenarios").splitlines()]
    return [scenario for scenario in map(ours, module.scenarios()) if scenario not in theirs], theirs


def compare(name, driver):
    """How many rows are equal, and those that are not."""
    module = importlib.import_module(name)
    theirs = {(row["series"], row["x"]): row["value"] for row in json.loads(experiment(module, driver, "--json"))}
    ours = {(row["series"], row["x"]): row["value"] for row in module.rows(driver)}
    different = {key: (value, theirs.get(key)) for key, value in ours.items() if theirs.get(key, "none") != value}
    return len(ours) - len(different), different


def main():
    wanted = list(zip(sys.argv[1::2], sys.argv[2::2])) or ALL
    failed = False
    for name, driver in wanted:
        equal, different = compare(name, driver)
        print(f"{name} by {driver}: {equal} rows are equal, {len(different)} differ")
        for (series, x), (ours, theirs) in different.items():
            print(f"  {series} at {x}: {ours} here, {theirs} there")
        failed |= bool(different) or equal == 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
