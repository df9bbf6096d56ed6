"""One sweep of 200 cells: a call by forty links and five schemes. `python -m overheard_lab sweep` takes it.

The variable DRIVER is virtual, or sim with longer calls; CELLS takes fewer cells, evenly. Run as a program, it says how long it took, and the rows' hash:
`python two_hundred.py STORE ENGINE [ADDRESS]`.
"""

import itertools
import os
import sys
import time

import overheard_lab as lab


DRIVER = os.environ.get("DRIVER", "virtual")
PACKETS = {"virtual": 250, "sim": 2_000}[DRIVER]


def call(loss_percent, round_trip, scheme):
    scenario = lab.Scenario(f"a call, {scheme}, {loss_percent}%, {round_trip} ms")
    scenario.link("gateway", "station", lab.bottleneck("2Mbit/s", round_trip, loss_percent / 100))
    there = "10.77.0.2"
    if scheme != "bare":
        scenario.tunnel("gateway", "station", scheme)
        there = "10.80.0.2"
    return scenario.constant_rate("gateway", "station", there, packets=PACKETS, every_ms=20, at=5.0)


GRID = {
    "loss_percent": [0, 1, 2, 3, 5, 7, 10, 15, 20, 25],
    "round_trip": [20, 60, 100, 300],
    "scheme": ["bare", "off", "acked", "adaptive", "cache-flush"],
}
ALL = [dict(zip(GRID, values)) for values in itertools.product(*GRID.values())]
COUNT = int(os.environ.get("CELLS", len(ALL)))
SWEEP = lab.Sweep(call, [ALL[number * len(ALL) // COUNT] for number in range(COUNT)], [1], DRIVER)

if __name__ == "__main__":
    store, engine, *address = sys.argv[1:]
    began = time.monotonic()
    ran = SWEEP.run(lab.Store(store), engine, address=address[0] if address else None, progress=False)
    print(f"{engine}: {ran} runs in {time.monotonic() - began:.1f} s")
    print(SWEEP.digest(lab.Store(store)))
