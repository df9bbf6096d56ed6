"""Somebody else's program in ten lines: OpenVPN, n2n and the kernel's WireGuard beside ours, over loss and distance.

    python peers.py [--seeds 5] [--engine dask --address tcp://HOST:8786] [--keep]
    python peers.py --table

--keep writes the rows to peers.jsonl beside this file; --table prints them as the table of docs/python.md. One download of 3,000,000 random bytes by one TCP connection with cubic, over 20 Mbit/s with a queue of 120 packets.
"""

import base64
import shutil
import subprocess
from functools import partial
from pathlib import Path

import kept
import overheard_lab as lab

KEPT = Path(__file__).with_name("peers.jsonl")


def bench(name, loss, round_trip):
    scenario = lab.Scenario(f"{name}, loss {loss}%, {round_trip} ms", 620, net__ipv4__tcp_congestion_control="cubic")
    scenario.link("gateway", "station", lab.bottleneck("20Mbit/s", round_trip, loss / 100))
    scenario.serve("gateway", content=lab.Random(3_000_000))
    return scenario


def download(scenario, source):
    return scenario.download("station", source, at=20.0, stall_seconds=600)


def bare(loss, round_trip):
    return download(bench("bare", loss, round_trip), "10.77.0.1")


def overheard(loss, round_trip, scheme="adaptive"):
    return download(bench(f"overheard {scheme}", loss, round_trip).tunnel("gateway", "station", scheme), "10.80.0.1")


def openvpn(loss, round_trip):
    scenario = bench("OpenVPN", loss, round_trip).file("key", static_key())
    common = "--dev tun0 --dev-type tun --proto udp --secret {files}/key --cipher AES-256-CBC --verb 1"
    for place, own, far, remote in [("gateway", 1, 2, "--float"), ("station", 2, 1, "--remote 10.77.0.1")]:
        command = f"openvpn {common} {remote} --ifconfig 10.90.0.{own} 10.90.0.{far}"
        scenario.program(place, f"exec {command}", name=f"openvpn-{place}", ready="tun0")
    return download(scenario, "10.90.0.1")


def n2n(loss, round_trip):
    scenario = bench("n2n", loss, round_trip)
    scenario.program("gateway", "exec supernode -l 7777", name="supernode")
    for place, own in [("gateway", 1), ("station", 2)]:
        command = f"exec edge -d n2n0 -a 10.90.0.{own} -c lab -k secret -l 10.77.0.1:7777 -u 0 -g 0 -m 02:00:00:00:00:0{own}"
        ready = ["curl", "-so/dev/null", "-m2", "http://10.90.0.1/"] if place == "station" else "n2n0"
        scenario.program(place, command, name=f"edge-{place}", ready=ready, within_seconds=60)
    return download(scenario, "10.90.0.1")


def wireguard(loss, round_trip):
    scenario = bench("kernel WireGuard", loss, round_trip)
    keys = wireguard_keys()
    for (place, own, peer), (private, _) in zip([("gateway", 1, 2), ("station", 2, 1)], keys):
        scenario.file(f"wg-{place}", private)
        endpoint = "endpoint 10.77.0.1:51820" if place == "station" else ""
        setup = f"ip link add wg0 mtu 1420 type wireguard && ip address add 10.90.0.{own}/24 dev wg0"
        setup += f" && wg set wg0 listen-port 51820 private-key {{files}}/wg-{place} peer {keys[peer - 1][1]}"
        setup += f" allowed-ips 10.90.0.{peer}/32 {endpoint} && ip link set wg0 up && exec sleep infinity"
        scenario.program(place, setup, name=f"wireguard-{place}", ready="wg0")
    return download(scenario, "10.90.0.1")


def static_key():
    body = "\n".join(f"{number:02x}" * 16 for number in range(1, 17))
    return f"-----BEGIN OpenVPN Static key V1-----\n{body}\n-----END OpenVPN Static key V1-----\n"


def wireguard_keys():
    """Private and public keys, the same in every run: tasks are compared by content."""
    keys = []
    for number in (1, 2):
        octets = bytearray([number] * 32)
        octets[0] &= 248
        octets[31] = octets[31] & 127 | 64
        private = base64.b64encode(octets).decode()
        public = subprocess.run(["wg", "pubkey"], input=private, capture_output=True, text=True, check=True).stdout.strip()
        keys.append((private, public))
    return keys


# What a way needs, by programs.
WAYS = {
    "bare": (bare, []),
    "overheard off": (partial(overheard, scheme="off"), []),
    "overheard adaptive": (overheard, []),
    "kernel WireGuard": (wireguard, ["wg"]),
    "OpenVPN": (openvpn, ["openvpn"]),
    "n2n": (n2n, ["supernode", "edge"]),
}


def installed():
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    missing = {way: [it for it in needs if not shutil.which(it, path=path)] for way, (_, needs) in WAYS.items()}
    for way, programs in missing.items():
        if programs:
            print(f"left out: {way} ({', '.join(programs)} not installed)")
    return [way for way, programs in missing.items() if not programs]


def build(way, loss, round_trip):
    return WAYS[way][0](loss, round_trip)


def versions():
    """The Debian packages of the others, and the kernel."""
    listed = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", "openvpn", "n2n", "wireguard-tools", "nginx-light", "curl"]
    packages = subprocess.run(listed, capture_output=True, text=True).stdout.splitlines()
    return {"kernel": kept.kernel(), "packages": packages}


def keep(results, seeds):
    """One line about the run, then one for each way at each place: the seconds of every seed, none for a longer one."""
    times = {}
    for row in results.rows("downloads"):
        at = (row["loss"], row["round_trip"], row["way"])
        times.setdefault(at, []).append(row["seconds"] if row["whole"] else None)
    lines = [{"run": {"command": f"peers.py --seeds {seeds}", "driver": "virtual", "overheard": lab.__version__, **versions()}}]
    lines += [dict(zip(("loss", "round_trip", "way"), at), seconds=seconds) for at, seconds in sorted(times.items())]
    kept.write(KEPT, lines)


def table():
    """The kept rows as Markdown: medians."""
    head, *rows = kept.read(KEPT)
    ways = [way for way in WAYS if any(row["way"] == way for row in rows)]
    places = sorted({(row["loss"], row["round_trip"]) for row in rows})
    seconds = {(row["loss"], row["round_trip"], row["way"]): row["seconds"] for row in rows}
    lines = ["| loss | round trip, ms | " + " | ".join(ways) + " |", "|---|---|" + "---|" * len(ways)]
    for place in places:
        cells = [kept.cell(seconds[(*place, way)], 600) for way in ways]
        lines.append(f"| {place[0]}% | {place[1]} | " + " | ".join(cells) + " |")
    run = head["run"]
    count = len(rows[0]["seconds"])
    lines += ["", f"Seconds, {'one seed' if count == 1 else f'median of {count} seeds'}; `{run['command']}`, driver {run['driver']}, {run['kernel']}; {', '.join(run['packages'])}."]
    return "\n".join(lines) + "\n"


def main():
    parser = kept.options(__doc__.splitlines()[0], "peers")
    parser.add_argument("--loss", type=int, nargs="+", default=[0, 1, 5])
    parser.add_argument("--round-trip", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--chart", default="peers.png")
    options = parser.parse_args()
    if options.table:
        print(table(), end="")
        return
    grid = {"way": installed(), "loss": options.loss, "round_trip": options.round_trip}
    how = {"engine": options.engine, "address": options.address, "store": options.store}
    results = lab.sweep(build, grid, range(1, options.seeds + 1), **how)
    downloads = results.downloads.to_pandas()
    downloads.loc[~downloads["whole"], "seconds"] = float("inf")
    print(downloads.groupby(["loss", "round_trip", "way"])["seconds"].median().unstack()[grid["way"]].round(2).to_string())
    if options.keep:
        keep(results, options.seeds)
    if options.chart:
        far = lab.Results([it for it, cell in zip(results.outcomes, results.cells) if cell["round_trip"] == max(options.round_trip)],
                          [cell for cell in results.cells if cell["round_trip"] == max(options.round_trip)])
        ax = far.chart("loss", "seconds", "way")
        ax.set_yscale("log")
        ax.figure.savefig(options.chart)


if __name__ == "__main__":
    main()
