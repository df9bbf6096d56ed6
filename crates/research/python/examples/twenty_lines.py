"""Twenty lines: a figure of `sim`, and one in virtual time."""

import sys

import overheard_lab as lab

LOSSES = [0.0, 0.05, 0.1]


def call(scheme, loss):
    scenario = lab.Scenario("a call").link("gateway", "station", lab.Link("1Mbit/s", 10.0, loss))
    scenario = scenario if scheme == "bare" else scenario.tunnel("gateway", "station", scheme)
    return scenario.constant_rate("gateway", "station", "10.77.0.2", packets=1000, every_ms=20)


def download(scheme, loss):
    scenario = lab.Scenario("a download").link("gateway", "station", lab.bottleneck("20Mbit/s", 100, loss))
    scenario.serve("gateway", content=lab.Random(1_000_000))
    scenario = scenario if scheme == "bare" else scenario.tunnel("gateway", "station", scheme)
    return scenario.download("station", "10.77.0.1" if scheme == "bare" else "10.80.0.1", at=5.0)


for build, driver, y in [(call, "sim", "perceived_loss"), (download, "virtual", "seconds")][: len(sys.argv) > 1 and int(sys.argv[1]) or 2]:
    results = lab.sweep(build, {"scheme": ["bare", "adaptive"], "loss": LOSSES}, range(1, 4), driver=driver)
    results.chart("loss", y, "scheme").figure.savefig(f"{driver}.png")
