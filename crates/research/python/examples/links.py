"""The experiment on links on the Python face: one transfer of 3 MB over loss and distance, five ways."""

from overheard_lab import Random, Scenario, bottleneck, estimate

PLACES = [(0, 100), (10, 100)]
WAYS = [("bare", "cubic"), ("bare", "bbr"), ("off", "cubic"), ("adaptive", "cubic"), ("adaptive", "bbr")]
COMMAND = ["links", "--figure", "downloads", "--seeds", "1"]
CONTENT, BYTES = "random-long", 3_000_000
# The experiments' stations have this route to a server behind the gateway, also where there is none. One more route is
# another run, as another seed is.
BEYOND = ["10.77.1.1/32"]
START_SECONDS, BOUND_SECONDS = 20.0, 600


def scenario(scheme, control, loss, round_trip):
    name = f"download, {scheme}, {control}, loss {loss}% both ways, {round_trip} ms"
    parameters = {"net__ipv4__tcp_congestion_control": control}
    bench = Scenario(name, bound_seconds=START_SECONDS + BOUND_SECONDS, **parameters)
    bench.link("gateway", "station", bottleneck("20Mbit/s", round_trip, loss / 100))
    bench.content(CONTENT, Random(BYTES))
    source = "10.77.0.1"
    if scheme != "bare":
        source = "10.80.0.1"
        bench.tunnel("gateway", "station", scheme, beyond=BEYOND)
    return bench.exchange("station", "gateway", source, CONTENT, answer_bytes=BYTES, at=START_SECONDS)


def scenarios():
    return [scenario(*way, *place) for place in PLACES for way in WAYS]


def row(scenario, driver, seeds=(1,)):
    """The median of the seconds; a download that did not end counts as longer than all others."""
    results = scenario.run(seeds, driver, progress=False)
    median = estimate("median", [row["seconds"] if row["whole"] else float("inf") for row in results.rows("exchanges")])
    return median and median[0]


def rows(driver, seeds=(1,)):
    for loss, round_trip in PLACES:
        for scheme, control in WAYS:
            value = row(scenario(scheme, control, loss, round_trip), driver, seeds)
            yield {"series": f"seconds, {round_trip} ms: {scheme}, {control}", "x": loss, "value": value}
