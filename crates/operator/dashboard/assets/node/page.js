// The page of a node.
"use strict";

const CHARTS = [
  { id: "traffic", unit: bits, series: [
    ["offered", COLORS.orange, rate("offered_bytes", 8), true], ["sent", COLORS.blue, rate("sent_bytes", 8), true],
    ["received", COLORS.grey, rate("received_bytes", 8)]] },
  { id: "saved", unit: bits, series: [
    ["redundancy (RE)", COLORS.blue, rate("reduced_bytes", 8)], ["headers, literals", COLORS.violet, rate("shortened_bytes", 8)],
    ["overheard", COLORS.green, rate("overheard_bytes", 8)], ["coding", COLORS.red, rate("coded_bytes", 8)], ["packing", COLORS.orange, rate("packed_bytes", 8)]] },
  { id: "loss", unit: percent, second: time, series: [
    ["loss", COLORS.red, plain("loss_ppm", 1e-6), true], ["round trip", COLORS.grey, plain("srtt_microseconds", 1e-6), false, "second"]] },
  { id: "repairs", unit: often, series: [
    ["by the hop", COLORS.blue, rate("hop_repaired")], ["TCP segments", COLORS.green, rate("segments_repaired")],
    ["coded", COLORS.violet, rate("segments_coded")], ["missed", COLORS.red, rate("missed")],
    ["dropped", COLORS.grey, rate("queue_dropped")]] },
  { id: "air", unit: percent, series: [
    ["offered", COLORS.orange, rate("offered_air_seconds"), true], ["sent", COLORS.blue, rate("sent_air_seconds"), true]] },
  { id: "streams", unit: bits, series: [
    ["from hosts", COLORS.orange, rate("stream_taken_bytes", 8), true], ["sent", COLORS.blue, rate("stream_sent_bytes", 8), true], ["sent again", COLORS.red, rate("stream_resent_bytes", 8)],
    ["received", COLORS.grey, rate("stream_received_bytes", 8)]] },
  { id: "queue", unit: bytes, series: [["waits", COLORS.violet, plain("queue_bytes"), true]] },
];

// The air time is the whole's alone.
function tracks(series) {
  const { offered_air_seconds, sent_air_seconds } = series;
  return [["", { ...series.whole, offered_air_seconds, sent_air_seconds }], ...series.peers.map((peer) => [peer.name, peer])];
}

const charts = new Charts("history.json", tracks, CHARTS);
at("streams-figure").hidden = true; // after its chart has its size

// What bytes a mechanism left out, and what was repaired, of the columns of a track.
function saved(of) {
  const offered = sum(of.offered_bytes), sent = sum(of.sent_bytes);
  if (offered === 0) return "–";
  return sent > offered ? `overhead ${bytes(sent - offered)}` : percent(1 - sent / offered);
}
const repaired = (of) => count(sum(of.hop_repaired) + sum(of.segments_repaired) + sum(of.segments_coded));

function show() {
  const whole = charts.columns(""), of = charts.columns(at("peer").value);
  charts.draw(of);
  at("air-figure").hidden = of !== whole;
  const air = { offered: sum(whole.offered_air_seconds), sent: sum(whole.sent_air_seconds) };
  const figures = [
    [bytes(sum(of.offered_bytes)), "offered"], [bytes(sum(of.sent_bytes)), "sent"], [saved(of), "saved"],
    [air.offered > 0 ? percent(Math.max(0, 1 - air.sent / air.offered)) : "–", "air time saved"],
    [of.loss_ppm && of.loss_ppm.length ? percent(of.loss_ppm.at(-1) * 1e-6) : "–", "lost now"],
    [repaired(of), "repaired"], [count(sum(of.missed)), "missed"],
  ];
  at("figures").replaceChildren(...figures.map(([value, what]) => {
    const box = document.createElement("div");
    box.append(element("b", value), element("span", what));
    return box;
  }));
  table();
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Each column and its meaning, which a browser shows at the pointer.
const COLUMNS = {
  "station": "the name of the peer in the configuration",
  "offered": "bytes of inner packets and of streams to the station",
  "sent": "bytes of all datagrams to the station, with outer headers, receipts and retransmissions",
  "saved": "the share by which sent is smaller than offered; overhead: the bytes sent beyond offered",
  "RE": "bytes that redundancy elimination left out",
  "headers, literals": "bytes that header compression and literal compression left out",
  "overheard": "bytes left out because the station had them",
  "packing": "bytes of headers of datagrams that packets shared",
  "repaired": "packets and TCP segments sent again",
  "missed": "arrived packets that could not be restored at once",
  "loss": "the share of recently sent packets that the air lost",
  "round trip": "the smoothed round-trip time of the hop",
  "queue": "bytes that wait to be sent",
};

// The same for streams.
const OF_STREAMS = {
  "station": "the name of the peer in the configuration",
  "state": "on: TCP connections cross the hop as streams; off, and why: at the peer, for instance, whose streams are off",
  "open": "streams now, and the most of them at once",
  "opened here": "streams that this node opened for connections of its hosts",
  "opened by the station": "streams that the station opened for connections of its hosts",
  "refused": "connections that their destination refused, or did not answer",
  "reset": "streams that ended by a reset of a host, or because a node began anew",
  "in packets": "connections that went in packets: no stream was free on one of the nodes, or the station does not allow the addresses",
  "no way back": "connections that went in packets, as their destination did not answer through the station",
  "from hosts": "bytes of streams from hosts here, sent to the station in any form",
  "sent": "bytes as which these were sent for the first time, without what repeats",
  "sent again": "bytes of streams sent again",
  "received": "bytes of streams from the station, handed to hosts",
  "memory": "bytes of streams kept for the station, with the room promised to it, and the most of them",
};

const peers = () => [...charts.steps.tracks].filter(([name]) => name !== "");

// Fills a table below a head whose columns have these meanings.
function fill(table, columns, rows) {
  const row = (kind, cells) => {
    const made = document.createElement("tr");
    made.append(...cells.map((cell) => element(kind, cell)));
    return made;
  };
  const head = row("th", Object.keys(columns));
  Object.values(columns).forEach((meaning, i) => { head.children[i].title = meaning; });
  table.replaceChildren(head, ...rows.map((cells) => row("td", cells)));
}

function table() {
  const rows = peers().map(([name, of]) => {
    const last = (column) => (of[column] || []).at(-1) || 0;
    return [name, bytes(sum(of.offered_bytes)), bytes(sum(of.sent_bytes)), saved(of),
      bytes(sum(of.reduced_bytes)), bytes(sum(of.shortened_bytes)), bytes(sum(of.overheard_bytes)), bytes(sum(of.packed_bytes)),
      repaired(of), count(sum(of.missed)),
      percent(last("loss_ppm") * 1e-6), time(last("srtt_microseconds") * 1e-6), bytes(last("queue_bytes"))];
  });
  fill(at("peers"), COLUMNS, rows);
}

function showStreams(peers) {
  const rows = peers.filter((peer) => peer.streams).map(({ name, streams: now, counters: { streams: it } }) => [name,
    now.off ? `off: ${now.off}` : "on", `${now.open} of ${now.most}`, it.opened, it.accepted, it.refused, it.aborted, it.passed, it.no_way_back,
    bytes(it.taken_bytes), bytes(it.sent_bytes), bytes(it.resent_bytes), bytes(it.received_bytes),
    `${bytes(now.memory_bytes)} of ${bytes(now.most_memory_bytes)}`]);
  at("streams-section").hidden = at("streams-figure").hidden = rows.length === 0;
  fill(at("of-streams"), OF_STREAMS, rows);
}

function offerPeers() {
  const names = ["", ...peers().map(([name]) => name)];
  const select = at("peer");
  if (select.options.length !== names.length) {
    const now = select.value;
    select.replaceChildren(...names.map((name) => new Option(name || "all", name)));
    select.value = names.includes(now) ? now : "";
  }
}

function describe(status) {
  const hours = Math.floor(status.node.uptime_seconds / 3600), minutes = Math.floor(status.node.uptime_seconds / 60) % 60;
  at("about").textContent = `${status.role} on ${status.interface} (mtu ${status.mtu}), listening on ${status.listen}, up for ` +
    `${hours} h ${minutes} min, policy ${status.node.policy}, version ${status.version}`;
  document.title = `Overheard: ${status.interface}`;
  const silent = status.silent || [];
  at("silence").hidden = silent.length === 0;
  at("silent").replaceChildren(...silent.map((it) => element("p", `${it.peer}: ${it.reason}`)));
  showStreams(status.node.peers);
  const refused = Object.entries(status.node.refused).filter(([, times]) => times > 0);
  at("refused").textContent = refused.map(([why, times]) => `${times} ${why.replaceAll("_", " ")}`).join(", ") || "nothing";
}

function showCaches(lines) {
  const section = at("caches");
  section.hidden = lines.length === 0;
  section.replaceChildren(section.firstElementChild, ...lines.map((line) => element("p", line)));
}

at("peer").addEventListener("change", show);
charts.run("node", async (series) => {
  if (series) {
    at("rate").textContent = (series.air_rate || "").replace(/\B(?=[kMG]?bit)/, " "); // as it is configured: 24Mbit/s
    offerPeers();
    show();
  }
  describe(await asked("status.json"));
  showCaches(await asked("caches.json"));
});
