// The page of a node: asks for what is newer than what it has, once a second, and draws it.
"use strict";

const COLORS = { blue: "#2f6fde", green: "#2e9e5b", orange: "#e08a1e", red: "#d64545", violet: "#8a5bd1", grey: "#8b95a5" };
const KEPT = { 1: 600, 10: 360 };
// Steps whose mean is one point of a curve: what changes from second to second hides what changes from minute to minute.
const DRAWN = { 1: 4, 10: 2 };
const at = (id) => document.getElementById(id);

// What is known: one list an entry of the series, and a map of columns for the whole and for each peer.
let known = empty();
let step = 1;

function empty() {
  return { uptime: 0, end: [], seconds: [], air: { offered: [], sent: [] }, whole: {}, peers: new Map() };
}

function units(value, names, base = 1000) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < names.length) { value /= base; unit += 1; }
  return `${value.toFixed(value >= 100 || unit === 0 ? 0 : 1)} ${names[unit]}`;
}
const bits = (value) => units(value, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
const bytes = (value) => units(value, ["B", "kB", "MB", "GB", "TB"]);
const percent = (value) => `${(100 * value).toFixed(1)}%`;
const time = (seconds) => seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0)} ms` : `${seconds.toFixed(1)} s`;
const count = (value) => units(value, ["", "k", "M", "G"]).trim();
const sum = (list) => (list || []).reduce((all, one) => all + one, 0);

function ago(seconds) {
  const minutes = Math.round(seconds / 6) / 10;
  return seconds === 0 ? "now" : seconds > -60 ? `${Math.round(seconds)} s` : `${minutes} min`;
}

// What an axis reaches to at least, so that an idle node's numbers differ from each other.
const least = (unit) => unit === percent || unit === time ? 0.05 : 5;

// Charts: what each shows, as rates or as it is.
const rate = (column, factor = 1) => (of, i) => factor * (of[column] || [])[i] / known.seconds[i];
const plain = (column, factor) => (of, i) => factor * (of[column] || [])[i];
const CHARTS = [
  { id: "traffic", unit: bits, series: [
    ["offered", COLORS.orange, rate("offered_bytes", 8), true], ["sent", COLORS.blue, rate("sent_bytes", 8), true],
    ["received", COLORS.grey, rate("received_bytes", 8)]] },
  { id: "saved", unit: bits, series: [
    ["redundancy (RE)", COLORS.blue, rate("reduced_bytes", 8)], ["headers, literals", COLORS.violet, rate("shortened_bytes", 8)],
    ["overheard", COLORS.green, rate("overheard_bytes", 8)], ["coding", COLORS.red, rate("coded_bytes", 8)], ["packing", COLORS.orange, rate("packed_bytes", 8)]] },
  { id: "loss", unit: percent, second: time, series: [
    ["loss", COLORS.red, plain("loss_ppm", 1e-6), true], ["round trip", COLORS.grey, plain("srtt_microseconds", 1e-6), false, "second"]] },
  { id: "repairs", unit: (value) => `${count(value)}/s`, series: [
    ["by the hop", COLORS.blue, rate("hop_repaired")], ["TCP segments", COLORS.green, rate("segments_repaired")],
    ["coded", COLORS.violet, rate("segments_coded")], ["missed", COLORS.red, rate("missed")],
    ["dropped", COLORS.grey, rate("queue_dropped")]] },
  { id: "air", unit: percent, whole: true, series: [
    ["offered", COLORS.orange, (_, i) => known.air.offered[i] / known.seconds[i], true],
    ["sent", COLORS.blue, (_, i) => known.air.sent[i] / known.seconds[i], true]] },
  { id: "queue", unit: bytes, series: [["waits", COLORS.violet, plain("queue_bytes", 1), true]] },
];

function draw(chart) {
  const style = getComputedStyle(document.documentElement);
  const line = { stroke: style.getPropertyValue("--faint"), grid: { stroke: style.getPropertyValue("--line"), width: 1 },
    ticks: { stroke: style.getPropertyValue("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  const written = (unit) => (_, value) => value == null ? "–" : unit(value);
  const axis = (unit) => ({ ...line, size: 94, values: (_, values) => values.map((value) => unit(value)) });
  const axes = [{ ...line, values: (_, values) => values.map(ago), space: 60, incrs: [10, 30, 60, 120, 300, 600] }, axis(chart.unit)];
  const from = (unit) => ({ range: (_, low, high) => [0, Math.max((high || 0) * 1.08, least(unit))] });
  const scales = { x: { time: false }, y: from(chart.unit) };
  if (chart.second) {
    axes.push({ ...axis(chart.second), side: 1, scale: "second", grid: { show: false } });
    scales.second = from(chart.second);
  }
  const series = chart.series.map(([label, stroke, , fills, scale]) => ({
    label, stroke, width: 1.6, scale: scale || "y", points: { show: false }, fill: fills ? `${stroke}22` : undefined,
    value: written(scale ? chart.second : chart.unit),
  }));
  const place = at(chart.id);
  const options = { width: place.clientWidth, height: 210, axes, scales, cursor: { sync: { key: "time" } },
    series: [{ label: "when", value: (_, value) => value == null ? "–" : ago(value) }, ...series] };
  chart.plot = new uPlot(options, [[], ...series.map(() => [])], place);
  new ResizeObserver(() => chart.plot.setSize({ width: place.clientWidth, height: 210 })).observe(place);
}

function chosen() {
  return known.peers.get(at("peer").value) || known.whole;
}

// The steps of each point, by their places: those that end in the same stretch of the node's time, so that none changes
// its company while it moves to the left.
function points() {
  const stretches = new Map();
  known.end.forEach((end, i) => {
    const stretch = Math.floor(end / (step * DRAWN[step]));
    stretches.set(stretch, (stretches.get(stretch) || []).concat(i));
  });
  return [...stretches.values()];
}

function show() {
  const of = chosen();
  const drawn = points();
  const mean = (value) => drawn.map((steps) => sum(steps.map((i) => value(of, i))) / steps.length);
  const ago = drawn.map((steps) => known.end[steps.at(-1)] - known.uptime);
  for (const chart of CHARTS) {
    const rows = chart.series.map(([, , value]) => mean(value));
    chart.plot.setData([ago, ...rows], false);
    chart.plot.setScale("x", { min: -step * KEPT[step], max: 0 });
  }
  at("air-figure").hidden = of !== known.whole;
  const offered = sum(of.offered_bytes), sent = sum(of.sent_bytes);
  const air = { offered: sum(known.air.offered), sent: sum(known.air.sent) };
  const figures = [
    [bytes(offered), "offered"], [bytes(sent), "sent"],
    [offered > 0 ? percent(1 - sent / offered) : "–", "saved"],
    [air.offered > 0 ? percent(1 - air.sent / air.offered) : "–", "air time saved"],
    [of.loss_ppm && of.loss_ppm.length ? percent(of.loss_ppm.at(-1) * 1e-6) : "–", "lost now"],
    [count(sum(of.hop_repaired) + sum(of.segments_repaired) + sum(of.segments_coded)), "repaired"],
    [count(sum(of.missed)), "missed"],
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

const COLUMNS = ["station", "offered", "sent", "saved", "RE", "headers, literals", "overheard", "packing", "repaired",
  "missed", "loss", "round trip", "queue"];

function table() {
  const row = (kind, cells) => {
    const made = document.createElement("tr");
    made.append(...cells.map((cell) => element(kind, cell)));
    return made;
  };
  const rows = [...known.peers].map(([name, of]) => {
    const offered = sum(of.offered_bytes), sent = sum(of.sent_bytes), last = (column) => (of[column] || []).at(-1) || 0;
    return row("td", [name, bytes(offered), bytes(sent), offered > 0 ? percent(1 - sent / offered) : "–",
      bytes(sum(of.reduced_bytes)), bytes(sum(of.shortened_bytes)), bytes(sum(of.overheard_bytes)), bytes(sum(of.packed_bytes)),
      count(sum(of.hop_repaired) + sum(of.segments_repaired) + sum(of.segments_coded)), count(sum(of.missed)),
      percent(last("loss_ppm") * 1e-6), time(last("srtt_microseconds") * 1e-6), bytes(last("queue_bytes"))]);
  });
  at("peers").replaceChildren(row("th", COLUMNS), ...rows);
}

// Puts newer steps behind those that are known, and forgets what has become too old.
function append(columns, newer, before) {
  for (const [name, values] of Object.entries(newer)) {
    if (!Array.isArray(values)) continue;
    const all = (columns[name] || new Array(before).fill(0)).concat(values);
    columns[name] = all.slice(-KEPT[step]);
  }
}

function take(series) {
  // a node that began anew counts from 0
  if (series.uptime_seconds < known.uptime) { known = empty(); return; }
  const before = known.end.length;
  known.uptime = series.uptime_seconds;
  known.end = known.end.concat(series.end_seconds).slice(-KEPT[step]);
  known.seconds = known.seconds.concat(series.seconds).slice(-KEPT[step]);
  known.air.offered = known.air.offered.concat(series.offered_air_seconds).slice(-KEPT[step]);
  known.air.sent = known.air.sent.concat(series.sent_air_seconds).slice(-KEPT[step]);
  append(known.whole, series.whole, before);
  for (const peer of series.peers) {
    if (!known.peers.has(peer.name)) known.peers.set(peer.name, {});
    append(known.peers.get(peer.name), peer, before);
  }
  at("rate").textContent = (series.air_rate || "").replace(/\B(?=[kMG]?bit)/, " "); // as it is configured: 24Mbit/s
  const names = ["", ...known.peers.keys()];
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
  const refused = Object.entries(status.node.refused).filter(([, times]) => times > 0);
  at("refused").textContent = refused.map(([why, times]) => `${times} ${why.replaceAll("_", " ")}`).join(", ") || "nothing";
}

function showCaches(lines) {
  const section = at("caches");
  section.hidden = lines.length === 0;
  section.replaceChildren(section.firstElementChild, ...lines.map((line) => element("p", line)));
}

async function asked(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(4000) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function turn() {
  const state = at("state");
  try {
    const since = known.end.length ? known.end.at(-1) : 0;
    const of = step;
    const series = await asked(`history.json?step=${step}&since=${since}`);
    if (of === step) { take(series); show(); }
    describe(await asked("status.json"));
    showCaches(await asked("caches.json"));
    state.textContent = "";
    state.className = "";
  } catch (error) {
    state.textContent = "the node does not answer; what is shown is old";
    state.className = "bad";
  }
  setTimeout(turn, 1000);
}

CHARTS.forEach(draw);
at("peer").addEventListener("change", show);
at("span").addEventListener("change", () => { step = Number(at("span").value); known = empty(); });
turn();
