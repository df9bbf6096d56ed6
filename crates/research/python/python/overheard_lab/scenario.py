"""A scenario: places, links, programs, traffic and faults, described in Python and run by the laboratory."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any

from . import _native
from ._native import LabError
from .contents import Content
from .links import Link
from .results import Results

Ready = str | int | Sequence[str] | None


class Scenario:
    """One scenario. Every method that adds something returns the scenario, so that calls can be chained.

    Link number n is 10.77.n.0/24; its first end is host 1, and its second end host 2. Channel number c is
    10.78.c.0/24, and its stations are hosts 1, 2 and so on. Wi-Fi network number w is 10.79.w.0/24, and its access
    point is host 1.
    """

    def __init__(self, name: str, bound_seconds: float = 3600.0, **parameters: str) -> None:
        """`parameters` are kernel parameters of every place, with `__` for a dot."""
        self._scenario: dict[str, Any] = {
            "name": name,
            "seeds": [1],
            "topology": {"places": [], "links": [], "channels": []},
            "parameters": _parameters(name, "Scenario", parameters),
            "servers": [],
            "daemons": [],
            "downloads": [],
            "clients": [],
            "streams": [],
            "events": [],
            "bound_seconds": bound_seconds,
        }
        self._contents: dict[str, dict[str, Any]] = {}
        self._files: dict[str, str] = {}
        self._tunnel: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name, which is also in the rows."""
        return self._scenario["name"]

    # Places and what joins them

    def place(self, name: str, *, forwards: bool = False, routes: dict[str, str] | None = None, **parameters: str) -> Scenario:
        """A place. Links, channels and Wi-Fi networks add the places that they name; this sets what they cannot know.

        `routes` come behind those that a channel gave the place.
        """
        place = self._place(name)
        place["forwards"] = forwards
        place.setdefault("routes", []).extend({"to": to, "via": via} for to, via in (routes or {}).items())
        place["parameters"] = _parameters(self.name, "place", parameters)
        return self

    def link(self, first: str, second: str, forward: Link, backward: Link | None = None, name: str = "air") -> Scenario:
        """A link through the emulated air. Without `backward`, both directions are alike."""
        back = (backward or forward).describe()
        return self._join(first, second, name, {"air": {"forward": forward.describe(), "backward": back}})

    def cable(self, first: str, second: str, name: str = "wire") -> Scenario:
        """A cable, without delay and without a bound on its rate."""
        return self._join(first, second, name, "cable")

    def channel(self, positions: dict[str, tuple[float, float]], name: str = "mesh", routes: bool = False, **medium: Any) -> Scenario:
        """A radio channel that places share; positions are in metres. `medium` has keys of `air::MediumConfig`.

        With `routes`, every station reaches every other directly. Without it, a station has only the routes that
        `place` or a program gives it.
        """
        number = len(self._topology["channels"])
        addresses = {place: f"10.78.{number}.{host}" for host, place in enumerate(positions, 1)}
        for place in positions:
            others = [address for other, address in addresses.items() if other != place] if routes else []
            routed = self._place(place).setdefault("routes", [])
            routed.extend({"to": f"{address}/32", "via": address} for address in others)
        medium = {**medium, "stations": [list(map(float, at)) for at in positions.values()]}
        self._topology["channels"].append({"name": name, "stations": list(positions), "medium": medium})
        return self

    def wi_fi(
        self,
        positions: dict[str, tuple[float, float]],
        name: str = "wifi",
        *,
        monitors: Sequence[str] = (),
        protection: str = "open",
        **medium: Any,
    ) -> Scenario:
        """A Wi-Fi network of the kernel's own 802.11g (mac80211_hwsim, its rate control, hostapd, wpa_supplicant).

        The first place is the access point; positions are in metres. Radios in `monitors` also have the interface
        `{name}mon`, in monitor mode. `protection` is `open` or `wpa2`. `medium` has keys of `air::MediumConfig`; its
        ranges are those of 6 Mbit/s.
        """
        access_point, *stations = positions
        if not stations:
            raise LabError(f"scenario `{self.name}`: the Wi-Fi network `{name}` has an access point, and no station")
        for place in positions:
            self._place(place)
        radio = {"standard": "g", "rate": "6Mbit/s", "retry_limit": 7}
        medium = {"radio": radio, **medium, "stations": [list(map(float, at)) for at in positions.values()]}
        network = {"name": name, "access_point": access_point, "stations": stations, "medium": medium}
        networks = self._topology.setdefault("wi_fi", [])
        networks.append({**network, "monitors": list(monitors), "protection": protection})
        return self

    def address(self, place: str, on: str) -> str:
        """The IPv4 address of a place on a link, a channel, or a Wi-Fi network."""
        for number, link in enumerate(self._topology["links"]):
            if link["name"] == on and place in link["ends"]:
                return f"10.77.{number}.{link['ends'].index(place) + 1}"
        for number, channel in enumerate(self._topology["channels"]):
            if channel["name"] == on and place in channel["stations"]:
                return f"10.78.{number}.{channel['stations'].index(place) + 1}"
        for number, network in enumerate(self._topology.get("wi_fi", [])):
            members = [network["access_point"], *network["stations"]]
            if network["name"] == on and place in members:
                return f"10.79.{number}.{members.index(place) + 1}"
        raise LabError(f"scenario `{self.name}`: `{place}` is not on a link, channel or Wi-Fi network `{on}`")

    # Programs

    def program(
        self,
        place: str,
        command: str | Sequence[str],
        *,
        name: str | None = None,
        config: str = "",
        ready: Ready = None,
        says: str | None = None,
        within_seconds: int = 30,
        status: Sequence[str] = (),
        later: bool = False,
    ) -> Scenario:
        """Anybody's program, in the foreground, for the whole run. Text runs in a shell.

        It is ready at once; or when a path (`/…` or `{socket}`) exists, an interface is up, something listens on a
        TCP port (a number), or a command (a list) succeeds; or, with `says`, when it has written that text.
        `status` is a command that prints JSON, for the outcome's `statuses`. In its texts, `{config}` is its
        configuration file, `{folder}` a folder of the run, and `{files}` the folder of `file`.
        """
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        called = name or f"{place}-{len(self._scenario['daemons'])}"
        self._place(place)
        daemon = {"name": called, "place": place, "command": words, "config": config, "later": later}
        if says and ready is not None:
            raise LabError(f"scenario `{self.name}`: the program `{called}` has `ready` and `says`: give one of them")
        said = {"ready": {"said": {"text": says, "within_seconds": within_seconds}}}
        self._scenario["daemons"].append({**daemon, "status": list(status), **(said if says else _ready(ready, within_seconds))})
        return self

    def file(self, name: str, text: str) -> Scenario:
        """A file with mode 600 for programs: a key, a certificate. Its path is `{files}/NAME`."""
        self._files[name] = text
        return self

    def tunnel(
        self,
        gateway: str,
        station: str,
        scheme: str = "adaptive",
        *,
        on: str = "air",
        repairs: bool = True,
        beyond: Sequence[str] = (),
        further: str = "",
    ) -> Scenario:
        """Overheard between two places: 10.80.0.1 is the gateway, and 10.80.0.2 the station.

        `scheme` is a policy (`off`, `acked`, `adaptive`) or a paper's (`cache-flush`, `k-distance=8`). The station
        reaches the networks of `beyond` through the gateway. `further` is appended to both configurations, as TOML.
        """
        if self._tunnel:
            raise LabError(f"scenario `{self.name}` has a tunnel: a second one is two `program`s with configurations of their own")
        endpoint = f"{self.address(gateway, on)}:4780"
        if not any(place["name"] == station for place in self._topology["places"]):
            raise LabError(f"scenario `{self.name}`: no link, channel or Wi-Fi network joins the station `{station}`")
        files, nodes = _native.tunnel(scheme, gateway, station, endpoint, repairs, list(beyond))
        self._files.update(files)
        for node in map(json.loads, nodes):
            self._place(node["place"])
            self._scenario["daemons"].append({**node, "name": node["place"], "config": node["config"] + further})
        self._tunnel = {"scheme": scheme, "repairs": repairs}
        return self

    # Traffic

    def serve(self, place: str, **contents: Content) -> Scenario:
        """An HTTP server in a place, port 80, which offers contents by their names."""
        for name, content in contents.items():
            self._contents[name] = content.describe()
        self._place(place)
        self._scenario["servers"].append(place)
        return self

    def download(self, place: str, source: str, content: str = "content", *, at: float = 0.0, after: int | None = None, stall_seconds: int = 60, port: int = 80) -> Scenario:
        """One download by curl from an address. `after` is the number of an earlier one that has to end first."""
        start = {"at-seconds": at} if after is None else {"after": after}
        wanted = {"place": place, "from": source, "content": content, "port": port, "start": start}
        self._scenario["downloads"].append({**wanted, "stall_seconds": stall_seconds})
        return self

    def requests(self, place: str, source: str, contents: Iterable[str], *, at: float = 0.0) -> Scenario:
        """Downloads one after the other, each on a connection of its own."""
        after = None
        for content in contents:
            self.download(place, source, content, at=at, after=after)
            after = len(self._scenario["downloads"]) - 1
        return self

    def constant_rate(self, sender: str, receiver: str, address: str, *, packets: int, every_ms: float, payload_bytes: int = 200, at: float = 0.0, content: str | None = None, keeps_delays: bool = False) -> Scenario:
        """UDP datagrams at a constant rate, such as a call's."""
        stream = {"from": sender, "to": receiver, "address": address, "datagrams": packets, "payload_bytes": payload_bytes}
        timing = {"interval_milliseconds": every_ms, "start_seconds": at, "keeps_delays": keeps_delays}
        self._scenario["streams"].append({**stream, **timing, "content": content})
        return self

    def exchange(self, client: str, server: str, address: str, content: str, *, answer_bytes: int, answers: int = 1, asks: bool = False, connections: str = "kept", at: float = 0.0) -> Scenario:
        """Answers over TCP, slices of a content, between two programs of the laboratory.

        With `asks`, the client sends an octet for each; otherwise the server speaks first. They share connections as
        `connections` says: `kept` (one for all), `new` (one for each), or `at-once`.
        """
        exchange = {"client": client, "server": server, "address": address, "asks": asks, "answers": answers}
        how = {"answer_bytes": answer_bytes, "connections": connections, "content": content, "start_seconds": at}
        self._scenario.setdefault("exchanges", []).append({**exchange, **how})
        return self

    def web_user(self, place: str, source: str, pages: Iterable[tuple[float, Sequence[str]]]) -> Scenario:
        """A reader of pages: seconds of thought, then the contents of a page, and so on."""
        described = [{"think_seconds": think, "contents": list(contents)} for think, contents in pages]
        self._scenario["clients"].append({"place": place, "from": source, "pages": described})
        return self

    def content(self, name: str, content: Content) -> Scenario:
        """A content for streams and exchanges, or for a server that is there already."""
        self._contents[name] = content.describe()
        return self

    # Faults, by the time since everything was ready

    def change(self, at: float, link: str, direction: str, config: Link) -> Scenario:
        """A direction (`forward`, `backward`) of a link becomes another link."""
        return self._event(at, {"configure": {"link": link, "direction": direction, "config": config.describe()}})

    def command(self, at: float, place: str, command: str | Sequence[str]) -> Scenario:
        """A command runs in a place, to its end."""
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        return self._event(at, {"run": {"place": place, "command": words}})

    def start(self, at: float, program: str) -> Scenario:
        """A program that was `later` starts, or one that was stopped starts again."""
        return self._event(at, {"start": program})

    def stop(self, at: float, program: str) -> Scenario:
        """A program ends."""
        return self._event(at, {"stop": program})

    # Running

    def describe(self) -> dict[str, Any]:
        """The scenario as data, which any worker can run: contents and keys are described, not placed."""
        return copy.deepcopy(
            {"scenario": self._scenario, "contents": self._contents, "files": self._files, "tunnel": self._tunnel}
        )

    def check(self) -> Scenario:
        """Raises `LabError` with one sentence if the scenario makes no sense."""
        contents = [{"name": name, "file": "/dev/null"} for name in self._contents]
        _native.check(json.dumps({**self._scenario, "contents": contents}))
        return self

    def run(self, seeds: Iterable[int] = (1,), driver: str = "virtual", progress: bool = True, seeds_per_boot: int = 1) -> Results:
        """Runs the scenario with each seed. The driver is `sim`, `virtual` or `lab`.

        `virtual` boots a kernel for each seed, as `sweep` does: one seed is one run. With more `seeds_per_boot` (the
        experiments of the papers have 8), a run also depends on the seeds before it in its boot. An interruption loses
        what has run: `sweep` keeps it.
        """
        from .running import run_description, run_each

        if not (wanted := _seeds(seeds)):
            raise LabError(f"scenario `{self.name}` is to run with no seed: name one, such as run([1])")
        description = self.check().describe()
        if driver == "virtual" and seeds_per_boot == 1:
            return Results(run_each(description, wanted, driver, progress)).warn()
        return Results(run_description(description, wanted, driver, progress, seeds_per_boot)).warn()

    def _join(self, first: str, second: str, name: str, medium: Any) -> Scenario:
        self._place(first)
        self._place(second)
        self._topology["links"].append({"name": name, "ends": [first, second], "medium": medium})
        return self

    def _event(self, at: float, action: dict[str, Any]) -> Scenario:
        self._scenario["events"].append({"at_seconds": at, "action": action})
        return self

    @property
    def _topology(self) -> dict[str, Any]:
        return self._scenario["topology"]

    def _place(self, name: str) -> dict[str, Any]:
        for place in self._topology["places"]:
            if place["name"] == name:
                return place
        self._topology["places"].append({"name": name})
        return self._topology["places"][-1]


def _parameters(scenario: str, of: str, parameters: dict[str, str]) -> dict[str, str]:
    """Kernel parameters by their names; a keyword without a dot is none."""
    for key in parameters:
        if "__" not in key and "." not in key:
            raise LabError(f"scenario `{scenario}`: {of} has no keyword `{key}`; a kernel parameter has `__` for each dot")
    return {key.replace("__", "."): str(value) for key, value in parameters.items()}


def _seeds(seeds: Iterable[int]) -> list[int]:
    try:
        wanted = list(seeds)
    except TypeError:
        raise LabError(f"seeds are several whole numbers, such as [1, 2], and not {seeds!r}") from None
    for seed in wanted:
        if wanted.count(seed) > 1:
            raise LabError(f"seed {seed} is given twice: two runs with one seed are one run")
    return wanted


def _ready(ready: Ready, within_seconds: int) -> dict[str, Any]:
    """A program's condition of readiness, and its timeout where the condition has none of its own."""
    match ready:
        case None:
            return {"ready": "at-once"}
        case int():
            return {"ready": {"listening": ready}, "within_seconds": within_seconds}
        case str() if ready.startswith(("/", "{")):
            return {"ready": {"path": ready}, "within_seconds": within_seconds}
        case str():
            return {"ready": {"interface": ready}, "within_seconds": within_seconds}
        case _:
            return {"ready": {"succeeds": {"command": list(ready), "within_seconds": within_seconds}}}
