"""Section VII of the byte-caching paper on the Python face: mean packet size and number of packets at 9% loss."""

from overheard_lab import Experiment, Link, Scenario, estimate

SCHEMES = ["off", "cache-flush", "k-distance", "k-distance=50", "tcp-seq", "acked"]
PAPER = {"rate": "1MByte/s", "delay_ms": 10.0}
COMMAND = ["byte-caching", "--figure", "section-7"]


def scenario(scheme):
    bench = Scenario(f"section 7, {scheme}", bound_seconds=7200, net__ipv4__tcp_congestion_control="cubic")
    bench.link("gateway", "station", Link(**PAPER, loss=0.09), Link(**PAPER))
    bench.tunnel("gateway", "station", scheme, repairs=False, beyond=["10.77.1.1/32"])
    bench.serve("gateway", **{"file-1": Experiment("file-1")})
    return bench.download("station", "10.80.0.1", "file-1", at=5.0)


def scenarios():
    return [scenario(scheme) for scheme in SCHEMES]


def rows(driver, seeds=(1,)):
    for scheme in SCHEMES:
        results = scenario(scheme).run(seeds, driver, progress=False)
        if driver == "sim":
            readings = [(row["bytes_down"], row["offered_packets"]) for row in results.rows("sim")]
        else:
            down = (row for row in results.rows("links") if row["direction"] == "forward")
            readings = [(row["transmitted_bytes"], row["transmitted_packets"]) for row in down]
        size, _ = estimate("mean", [octets / max(packets, 1) for octets, packets in readings])
        count, _ = estimate("mean", [packets for _, packets in readings])
        yield {"series": "mean size: on the link", "x": scheme, "value": size}
        yield {"series": "packets: on the link", "x": scheme, "value": count}
