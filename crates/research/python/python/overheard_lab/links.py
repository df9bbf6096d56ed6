"""Links and their losses, in the form of the crate `air`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _native


@dataclass(frozen=True)
class Bernoulli:
    """Independent losses of packets, with one probability."""

    probability: float

    def describe(self) -> dict[str, Any]:
        return {"bernoulli": {"probability": self.probability}}


@dataclass(frozen=True)
class SimpleGilbert:
    """Two states, entered before each packet: the good one loses nothing, the bad one everything."""

    good_to_bad: float
    bad_to_good: float

    def describe(self) -> dict[str, Any]:
        return {"simple_gilbert": {"good_to_bad": self.good_to_bad, "bad_to_good": self.bad_to_good}}


@dataclass(frozen=True)
class GilbertElliott:
    """Two states, entered before each bit, with a bit error rate each."""

    good_error_rate: float
    bad_error_rate: float
    good_to_bad: float
    bad_to_good: float

    def describe(self) -> dict[str, Any]:
        return {"gilbert_elliott": dict(vars(self))}


@dataclass(frozen=True)
class BitErrors:
    """Independent bit errors: a packet is lost if any of its bits is in error."""

    rate: float

    def describe(self) -> dict[str, Any]:
        return {"bit_errors": {"rate": self.rate}}


@dataclass(frozen=True)
class Receptions:
    """A recording, `1` for received and `0` for lost, repeated at its end."""

    recording: str

    def describe(self) -> dict[str, Any]:
        return {"trace": {"receptions": self.recording}}


@dataclass(frozen=True)
class TimedGilbert:
    """Two states that alternate in time, with these mean durations; the bad one loses everything."""

    good_ms: float
    bad_ms: float

    def describe(self) -> dict[str, Any]:
        return {"timed_gilbert": {"good_ms": self.good_ms, "bad_ms": self.bad_ms}}


Loss = Bernoulli | SimpleGilbert | GilbertElliott | BitErrors | Receptions | TimedGilbert | float


@dataclass(frozen=True)
class CoDel:
    """CoDel (RFC 8289) in a link's queue: an acceptable wait, and the time above it until the first drop."""

    target_ms: float = 5.0
    interval_ms: float = 100.0


@dataclass(frozen=True)
class Policer:
    """A token bucket before a link's queue, which drops what exceeds it. `rate` is text such as "8Mbit/s"."""

    rate: str
    burst_bytes: int


@dataclass(frozen=True)
class Link:
    """One direction of a link. `rate` is text such as "8Mbit/s"; `loss` is a model, or a probability."""

    rate: str | None = None
    delay_ms: float = 0.0
    loss: Loss = 0.0
    queue_bytes: int = 65536
    queue_frames: int | None = None
    duplicate: float = 0.0
    corrupt: float = 0.0
    overhead_bytes: int = 0
    codel: CoDel | None = None
    policer: Policer | None = None
    further: dict[str, Any] = field(default_factory=dict)
    """Further keys of the link's configuration: `radio`, `trace`, `reorder`."""

    def describe(self) -> dict[str, Any]:
        loss = Bernoulli(self.loss) if isinstance(self.loss, (int, float)) else self.loss
        if not hasattr(loss, "describe"):
            raise _native.LabError(f"a link's loss is a probability such as 0.05, or a model such as Bernoulli, and not {self.loss!r}")
        if not isinstance(self.rate, (str, type(None))):
            raise _native.LabError(f"a link's rate is text such as \"8Mbit/s\", and not {self.rate!r}")
        link: dict[str, Any] = {
            "delay_ms": self.delay_ms,
            "queue_bytes": self.queue_bytes,
            "duplicate": self.duplicate,
            "corrupt": self.corrupt,
            "overhead_bytes": self.overhead_bytes,
            "loss": "none" if loss == Bernoulli(0.0) else loss.describe(),
            **self.further,
        }
        if self.rate is not None:
            link["rate"] = self.rate
        if self.queue_frames is not None:
            link["queue_frames"] = self.queue_frames
        if self.codel is not None:
            link["queue_discipline"] = {"codel": dict(vars(self.codel))}
        if self.policer is not None:
            link["policer"] = dict(vars(self.policer))
        return link


def bottleneck(rate: str, round_trip_ms: float, loss: Loss = 0.0, packets: int = 120) -> Link:
    """A link with a rate and a queue of packets, then delay and losses; both directions are alike.

    Half of the round trip is the delay of a direction. The Ethernet header takes time on the link.
    """
    return Link(rate, round_trip_ms / 2, loss, packets * 2000, packets, overhead_bytes=14)


def preset(name: str) -> tuple[Link, Link]:
    """A familiar link by its name (`clean`, `satellite`): to the station, and from it."""
    down, up = (json.loads(text) for text in _native.preset(name))
    return _read(down), _read(up)


def _read(link: dict[str, Any]) -> Link:
    usual = Link().describe()
    named = {key: link.pop(key, usual.get(key)) for key in ("rate", "delay_ms", "queue_bytes", "queue_frames")}
    return Link(**named, further=link)
