// The last hour of a program, drawn: asks once a second for the steps that are newer than those that are known.
"use strict";

const COLORS = { blue: "#2f6fde", green: "#2e9e5b", orange: "#e08a1e", red: "#d64545", violet: "#8a5bd1", grey: "#8b95a5" };
const KEPT = { 1: 600, 10: 360 };
// Time spans of charts, in seconds: the shortest one that shows all steps since the start of the program.
const SPANS = [60, 120, 300, 600, 900, 1200, 1800, 3600];
// Steps whose mean is one point of a curve: what changes from second to second hides what changes from minute to minute.
const DRAWN = { 1: 4, 10: 2 };
const HEIGHT = 210;
const at = (id) => document.getElementById(id);

// Numbers for people.
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
const often = (value) => `${count(value)}/s`;
const sum = (list) => (list || []).reduce((all, one) => all + one, 0);

function ago(seconds) {
  const minutes = Math.round(seconds / 6) / 10;
  return seconds === 0 ? "now" : seconds > -60 ? `${Math.round(seconds)} s` : `${minutes} min`;
}

// What an axis reaches to at least, so that an idle program's numbers differ from each other.
const least = (unit) => unit === percent || unit === time ? 0.05 : 5;

// What a curve shows of the columns of a track at a step: a rate, or the numbers as they are.
const rate = (column, factor = 1) => (of, i, seconds) => factor * (of[column] || [])[i] / seconds;
const plain = (column, factor = 1) => (of, i) => factor * (of[column] || [])[i];

// The newest steps of a series: when each ended and how long it was, and the columns of each track by its name; "" is the whole.
class Steps {
  constructor(most) {
    this.most = most;
    this.uptime = 0;
    this.end = [];
    this.seconds = [];
    this.tracks = new Map([["", {}]]);
  }

  newest() {
    return this.end.at(-1) || 0;
  }

  // Puts newer steps behind those that are known, and forgets what has become too old.
  append(series, tracks) {
    const before = this.end.length;
    const joined = (known, newer) => known.concat(newer).slice(-this.most);
    this.uptime = series.uptime_seconds;
    this.end = joined(this.end, series.end_seconds);
    this.seconds = joined(this.seconds, series.seconds);
    for (const [name, columns] of tracks) {
      if (!this.tracks.has(name)) this.tracks.set(name, {});
      const of = this.tracks.get(name);
      for (const [column, values] of Object.entries(columns)) {
        if (Array.isArray(values)) of[column] = joined(of[column] || new Array(before).fill(0), values);
      }
    }
  }

  // The steps of each point, by their places: those that end in the same stretch of the program's time, so that none changes
  // its company while it moves to the left.
  points(stretchSeconds) {
    const stretches = new Map();
    this.end.forEach((end, i) => {
      const stretch = Math.floor(end / stretchSeconds);
      stretches.set(stretch, (stretches.get(stretch) || []).concat(i));
    });
    return [...stretches.values()];
  }
}

// One chart: `id` of its place, the `unit` of its axis, that of a `second` axis if it has one, and its curves, each with a label, a
// color, what it shows, whether it is filled, and the axis if it is not the first one.
class Chart {
  constructor({ id, unit, second, series }) {
    this.series = series;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name);
    const line = { stroke: color("--faint"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 },
      font: "12px system-ui, sans-serif" };
    const written = (as) => (_, value) => value == null ? "–" : as(value);
    const axis = (as) => ({ ...line, size: 94, values: (_, values) => values.map((value) => as(value)) });
    const axes = [{ ...line, values: (_, values) => values.map(ago), space: 60, incrs: [10, 30, 60, 120, 300, 600] }, axis(unit)];
    const from = (as) => ({ range: (_, low, high) => [0, Math.max((high || 0) * 1.08, least(as))] });
    const scales = { x: { time: false }, y: from(unit) };
    if (second) {
      axes.push({ ...axis(second), side: 1, scale: "second", grid: { show: false } });
      scales.second = from(second);
    }
    const curves = series.map(([label, stroke, , fills, scale]) => ({
      label, stroke, width: 1.6, scale: scale || "y", points: { show: false }, fill: fills ? `${stroke}22` : undefined,
      value: written(scale ? second : unit),
    }));
    const place = at(id);
    const size = () => ({ width: place.clientWidth, height: HEIGHT });
    const options = { ...size(), axes, scales, cursor: { sync: { key: "time" } }, series: [{ label: "when", value: written(ago) }, ...curves] };
    this.plot = new uPlot(options, [[], ...curves.map(() => [])], place);
    // a hidden chart keeps its size: one that grows while it is observed is an error for browsers
    new ResizeObserver(() => { if (place.clientWidth > 0) this.plot.setSize(size()); }).observe(place);
  }

  draw(steps, columns, points, spanSeconds) {
    const mean = (value) => points.map((of) => sum(of.map((i) => value(columns, i, steps.seconds[i]))) / of.length);
    const ends = points.map((of) => steps.end[of.at(-1)] - steps.uptime);
    this.plot.setData([ends, ...this.series.map(([, , value]) => mean(value))], false);
    this.plot.setScale("x", { min: -spanSeconds, max: 0 });
  }
}

async function asked(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(4000) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// The charts of a page. `path` answers with a series; `tracks` makes of it pairs of a name and columns.
class Charts {
  constructor(path, tracks, charts) {
    this.path = path;
    this.tracks = tracks;
    this.forget(1);
    this.charts = charts.map((chart) => new Chart(chart));
  }

  // Begins anew, with steps of so many seconds.
  forget(step) {
    this.step = step;
    this.steps = new Steps(KEPT[step]);
  }

  // Asks for what is newer; tells what came, or nothing where it is of use no more.
  async ask() {
    const steps = this.steps;
    const series = await asked(`${this.path}?step=${this.step}&since=${steps.newest()}`);
    if (steps !== this.steps) return null;
    // a program that began anew counts from 0
    if (series.uptime_seconds < steps.uptime) this.forget(this.step);
    else steps.append(series, this.tracks(series));
    return series;
  }

  // The columns of a track; of the whole where there is no such.
  columns(name) {
    return this.steps.tracks.get(name) || this.steps.tracks.get("");
  }

  draw(columns = this.columns("")) {
    const points = this.steps.points(this.step * DRAWN[this.step]);
    const kept = this.step * KEPT[this.step];
    const span = Math.min(kept, SPANS.find((span) => span >= this.steps.uptime) || kept);
    for (const chart of this.charts) chart.draw(this.steps, columns, points, span);
  }

  // Asks once a second, and lets `show` show what came; the page has a choice of the time shown, and a place that says so where nobody
  // answers.
  run(who, show) {
    at("span").addEventListener("change", () => this.forget(Number(at("span").value)));
    const turn = async () => {
      const state = at("state");
      try {
        const series = await this.ask();
        await show(series);
        state.textContent = "";
        state.className = "";
      } catch (error) {
        state.textContent = `the ${who} does not answer; what is shown is old`;
        state.className = "bad";
      }
      setTimeout(turn, 1000);
    };
    turn();
  }
}
