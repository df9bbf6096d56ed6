"""Figure 6 of the byte-caching paper on the Python face: what of a file arrives under naive encoding at 1% loss."""

from overheard_lab import Experiment, Link, Scenario

FILES = {"file-1": "file 1", "ebook": "ebook"}
PAPER = {"rate": "1MByte/s", "delay_ms": 10.0}
COMMAND = ["byte-caching", "--figure", "6"]


def scenario(file):
    bench = Scenario(f"naive, {file}, 1% loss", bound_seconds=7200, net__ipv4__tcp_congestion_control="cubic")
    bench.link("gateway", "station", Link(**PAPER, loss=0.01), Link(**PAPER))
    bench.tunnel("gateway", "station", "naive", repairs=False, beyond=["10.77.1.1/32"])
    bench.serve("gateway", **{file: Experiment(file)})
    return bench.download("station", "10.80.0.1", file, at=5.0)


def scenarios():
    return [scenario(file) for file in FILES]


def rows(driver, seeds=range(1, 9)):
    for file, name in FILES.items():
        results = scenario(file).run(seeds, driver, progress=False, seeds_per_boot=8)
        for number, row in enumerate(results.rows("downloads"), 1):
            yield {"series": f"{name}: arrived", "x": number, "value": 100.0 * (row["bytes"] / row["whole_bytes"])}
