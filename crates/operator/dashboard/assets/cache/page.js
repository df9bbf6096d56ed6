// The charts of a cache's page: asks once a second for the steps that are newer than what it has, and draws them.
"use strict";

const KEPT = { 1: 600, 10: 360 };
const COLUMNS = ["seconds", "end_seconds", "requests", "local_bytes", "remote_bytes", "origin_bytes"];
const at = (id) => document.getElementById(id);
const empty = () => Object.fromEntries(COLUMNS.map((name) => [name, []]));
let known = empty();
let step = 1;

function units(value, names) {
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit + 1 < names.length) { value /= 1000; unit += 1; }
  return `${value.toFixed(value >= 100 || unit === 0 ? 0 : 1)} ${names[unit]}`;
}
const bits = (value) => units(value, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
const often = (value) => `${units(value, ["", "k", "M"]).trim()}/s`;
const ago = (seconds) => seconds === 0 ? "now" : seconds > -60 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 6) / 10} min`;

const CHARTS = [
  { id: "answered", unit: bits, series: [
    ["from here", "#2e9e5b", "local_bytes", 8], ["from another router", "#2f6fde", "remote_bytes", 8],
    ["from origins", "#e08a1e", "origin_bytes", 8]] },
  { id: "requests", unit: often, series: [["requests", "#8a5bd1", "requests", 1]] },
];

function draw(chart) {
  const style = getComputedStyle(document.documentElement);
  const line = { stroke: style.getPropertyValue("--faint"), grid: { stroke: style.getPropertyValue("--line"), width: 1 },
    ticks: { stroke: style.getPropertyValue("--line"), width: 1 } };
  const axes = [{ ...line, values: (_, values) => values.map(ago), space: 60, incrs: [10, 30, 60, 120, 300, 600] },
    { ...line, size: 94, values: (_, values) => values.map(chart.unit) }];
  const scales = { x: { time: false }, y: { range: (_, low, high) => [0, Math.max((high || 0) * 1.08, 5)] } };
  const series = chart.series.map(([label, stroke]) => ({ label, stroke, width: 1.6, fill: `${stroke}22`, points: { show: false },
    value: (_, value) => value == null ? "–" : chart.unit(value) }));
  const place = at(chart.id);
  const size = () => ({ width: place.clientWidth, height: 210 });
  const when = { label: "when", value: (_, value) => value == null ? "–" : ago(value) };
  chart.plot = new uPlot({ ...size(), axes, scales, series: [when, ...series] }, [[], ...series.map(() => [])], place);
  new ResizeObserver(() => chart.plot.setSize(size())).observe(place);
}

function show() {
  const now = known.end_seconds.at(-1) || 0;
  const when = known.end_seconds.map((end) => end - now);
  for (const chart of CHARTS) {
    const rates = chart.series.map(([, , column, factor]) => known[column].map((value, i) => factor * value / known.seconds[i]));
    chart.plot.setData([when, ...rates], false);
    chart.plot.setScale("x", { min: -step * KEPT[step], max: 0 });
  }
}

async function turn() {
  const of = step;
  try {
    const since = known.end_seconds.at(-1) || 0;
    const answer = await fetch(`history.json?step=${of}&since=${since}`, { signal: AbortSignal.timeout(4000) });
    if (!answer.ok) throw new Error(await answer.text());
    const newer = await answer.json();
    // one that began anew counts from 0
    if (newer.uptime_seconds < since) known = empty();
    else if (of === step) {
      for (const name of COLUMNS) known[name] = known[name].concat(newer[name]).slice(-KEPT[step]);
      show();
    }
    at("state").textContent = "";
  } catch (error) {
    at("state").textContent = "the cache does not answer";
  }
  setTimeout(turn, 1000);
}

CHARTS.forEach(draw);
at("span").addEventListener("change", () => { step = Number(at("span").value); known = empty(); });
turn();
