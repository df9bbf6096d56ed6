"""A download by Wi-Fi over distance: the kernel's own 802.11g with its rate control, with a tunnel and without one.

    python wi_fi.py [--seeds 5] [--engine dask --address tcp://HOST:8786] [--keep]
    python wi_fi.py --table

--keep writes the rows to wi_fi.jsonl beside this file; --table prints them as the table of docs/python.md. One download of 3,000,000 random bytes from the access point by one TCP connection with cubic. Every try of a frame fades by itself (Rayleigh); the range of 6 Mbit/s at mean power is 250 m.
"""

from pathlib import Path
from statistics import median

import kept
import overheard_lab as lab

KEPT = Path(__file__).with_name("wi_fi.jsonl")
SCHEMES = ["bare", "off", "adaptive"]
METRES = [25, 50, 100, 150, 200, 250]


def build(metres, scheme):
    scenario = lab.Scenario(f"Wi-Fi, {metres} m, {scheme}", 300, net__ipv4__tcp_congestion_control="cubic")
    scenario.wi_fi({"gateway": (0, 0), "station": (metres, 0)}, rayleigh=True)
    scenario.serve("gateway", content=lab.Random(3_000_000))
    if scheme == "bare":
        return scenario.download("station", "10.79.0.1", at=5.0)
    return scenario.tunnel("gateway", "station", scheme, on="wifi").download("station", "10.80.0.1", at=5.0)


def rows(results):
    """By distance: the seconds of every seed for each scheme, and the tries that a frame of the access point took."""
    found = {metres: {"metres": metres, "tries": [], **{scheme: [] for scheme in SCHEMES}} for metres in METRES}
    for row in results.rows("downloads"):
        found[row["metres"]][row["scheme"]].append(row["seconds"] if row["whole"] else None)
    for row in results.rows("stations"):
        if row["host"] == 1 and row["scheme"] == "bare":
            unicast = row["delivered_packets"] + row["lost_packets"]
            found[row["metres"]]["tries"].append((row["transmitted_packets"] - row["broadcast_packets"]) / unicast)
    return list(found.values())


def table(head, rows):
    lines = ["| metres | tries a frame | " + " | ".join(SCHEMES) + " |", "|---|---|" + "---|" * len(SCHEMES)]
    for row in rows:
        cells = [kept.cell(row[scheme], 300) for scheme in SCHEMES]
        lines.append(f"| {row['metres']} | {median(row['tries']):.2f} | " + " | ".join(cells) + " |")
    lines += ["", f"Seconds, median of {head['seeds']} seeds; `wi_fi.py --seeds {head['seeds']}`, driver virtual, Overheard {head['overheard']}, {head['kernel']}."]
    return "\n".join(lines) + "\n"


def kept_table():
    head, *kept_rows = kept.read(KEPT)
    return table(head, kept_rows)


def main():
    options = kept.options(__doc__.splitlines()[0], "wi_fi").parse_args()
    if options.table:
        print(kept_table(), end="")
        return
    grid, seeds = {"metres": METRES, "scheme": SCHEMES}, range(1, options.seeds + 1)
    results = lab.sweep(build, grid, seeds, engine=options.engine, address=options.address, store=options.store)
    head = {"seeds": options.seeds, "overheard": lab.__version__, "kernel": kept.kernel()}
    print(table(head, rows(results)), end="")
    if options.keep:
        kept.write(KEPT, [head, *rows(results)])


if __name__ == "__main__":
    main()
