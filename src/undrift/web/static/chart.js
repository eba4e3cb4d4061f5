// A chart of stacked bars in which one bar is picked, by pointer or by keys.
// Law: each series is one path, however many bars there are; what a colour means is said in a legend.

import {h} from "./dom.js";

const LEFT = 48, RIGHT = 10, TOP = 30, BELOW = 22, STRIP = 34, GAP = 8;
const NEAR = 7;
const STEPS = [1, 2, 2.5, 5, 10];

/**
 * `label`: what a bar is; `format`: a value in words; `worded`: a bar in words; `onPick`: hears which bar is picked;
 * `onOpen`: which one is opened, by Enter or a double click.
 * `set(data)`: {series: [{name, values}], over: {name, values} or null, marks: [{kind, at, text}], limit, named: a bar's short name}.
 */
export function chart({label, height = 290, widest = 34, ...told}) {
  const svg = h("svg", {"aria-hidden": "true", height});
  const element = h("div.chart", {role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "1"}, svg);
  const made = {...told, svg, element, height, widest, data: null, picked: 0, pinned: 0, width: 0, scale: null};
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (!width || width === made.width) return;
    made.width = width;
    if (made.data) draw(made);
  }).observe(element);
  listen(made);
  return {element, set: data => set(made, data), pick: at => pick(made, at, true)};
}

/** Take new data. Who looks at the newest bar goes on to the new one. */
function set(made, data) {
  const isNewest = !made.data || made.pinned === made.data.count - 1, isPinned = made.picked === made.pinned;
  const count = data.series[0].values.length;
  made.data = {...data, count};
  if (isNewest) made.pinned = count - 1;
  made.element.ariaValueMax = count;
  made.width ||= Math.round(made.element.clientWidth);
  if (made.width) draw(made);
  pick(made, isPinned ? made.pinned : made.picked, isPinned);
}

/** Pick a bar. `isPinned`: it stays picked when the pointer leaves. */
function pick(made, at, isPinned) {
  made.picked = Math.max(0, Math.min(made.data.count - 1, at));
  if (isPinned) made.pinned = made.picked;
  made.element.ariaValueNow = made.picked + 1;
  made.element.ariaValueText = made.worded(made.picked);
  cursor(made);
  made.onPick(made.picked);
}

function listen(made) {
  const {element} = made;
  const point = (event, isPinned) => {
    if (!made.scale) return;
    const at = nearest(made, event.clientX - element.getBoundingClientRect().left);
    if (at !== made.picked || isPinned) pick(made, at, isPinned);
  };
  element.addEventListener("pointermove", event => point(event, event.buttons > 0));
  element.addEventListener("pointerdown", event => point(event, true));
  element.addEventListener("pointerleave", () => made.picked !== made.pinned && pick(made, made.pinned, true));
  element.addEventListener("dblclick", () => made.onOpen?.(made.picked));
  element.addEventListener("keydown", event => {
    if (event.key === "Enter") made.onOpen?.(made.picked);
    const last = made.data.count - 1, far = Math.max(10, Math.round(last / 20));
    const step = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -far, PageUp: far}[event.key];
    const to = {Home: 0, End: last}[event.key] ?? made.pinned + step;
    if (Number.isNaN(to) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    pick(made, to, true);
  });
}

/** The bar at a place; among narrow ones a mark that is near. */
function nearest({data, scale: {step}}, x) {
  let best = Math.floor((x - LEFT) / step), least = NEAR;
  if (step >= NEAR) return best;
  for (const {at} of data.marks) {
    const away = Math.abs(LEFT + at * step - x);
    if (away < least) [best, least] = [at, away];
  }
  return best;
}

/** The next round number. */
function roundly(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return power * STEPS.find(one => one * power >= most * 0.999);
}

function scaleOf({data, width, height, widest}) {
  const totals = new Float64Array(data.count);
  for (const {values} of data.series) values.forEach((value, n) => (totals[n] += value));
  const highest = Math.max(...totals);
  const limit = data.limit && data.limit <= highest * 1.7 ? data.limit : 0;
  const most = Math.max(highest, limit) || 1;
  const low = height - BELOW, base = low - (data.over ? STRIP + GAP : 0);
  const step = Math.min(widest, (width - LEFT - RIGHT) / data.count);
  const y = value => base - ((base - TOP) * value) / most;
  return {most, limit, base, low, step, y, totals};
}

function draw(made) {
  const {svg, data, width, height} = made;
  const scale = (made.scale = scaleOf(made)), totals = Float64Array.from(scale.totals), paths = [];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const {name, values} of data.series.toReversed()) {
    paths.push(h(`path.k.k-${name}`, {d: stacked(scale, totals)}));
    values.forEach((value, at) => (totals[at] -= value));
  }
  if (data.over) paths.push(h(`path.k.k-${data.over.name}`, {d: stacked(under(scale, data.over.values), data.over.values)}));
  svg.replaceChildren(...grid(made), ...named(made), ...paths, ...marked(made), h("g.cursor"));
  cursor(made);
}

function under({step, base}, values) {
  const most = Math.max(1, ...values);
  return {step, base: base + GAP, y: value => base + GAP + (STRIP * value) / most};
}

/** Bars as one path; narrow ones touch, so that no seam shimmers. */
function stacked({step, base, y}, values) {
  const gap = step >= 12 ? 2 : 1, isNarrow = step < 4;
  const wide = (value, n) => (value > 0 ? `M${(LEFT + n * step).toFixed(1)} ${base}V${y(value).toFixed(1)}h${(step - gap).toFixed(1)}V${base}z` : "");
  const narrow = (value, n) => `V${y(value).toFixed(1)}H${(LEFT + (n + 1) * step).toFixed(2)}`;
  const parts = Array.from(values, isNarrow ? narrow : wide).join("");
  return isNarrow ? `M${LEFT} ${base}${parts}V${base}z` : parts;
}

function grid({scale, format, width}) {
  const at = value => Math.round(scale.y(value)) + 0.5, lines = [], words = [];
  const word = (value, kind) => h(`text.to${kind}`, {x: LEFT - 8, y: at(value) + 4}, format(value));
  const tick = roundly(scale.most / 4), {limit} = scale;
  for (let value = 0; value <= scale.most; value += tick) {
    lines.push(`M${LEFT} ${at(value)}H${width - RIGHT}`);
    if (!limit || Math.abs(at(limit) - at(value)) > 13) words.push(word(value, ""));
  }
  if (limit) words.push(h("path.limit", {d: `M${LEFT} ${at(limit)}H${width - RIGHT}`}), word(limit, ".strong"));
  return [h("path.grid", {d: lines.join("")}), ...words];
}

function named({data, scale, width}) {
  const room = 8 * data.named(data.count - 1).length + 18, found = [];
  const every = Math.ceil(Math.max(1, roundly(room / scale.step)));
  for (let at = data.isNumbered ? every - 1 : 0; at < data.count; at += every) {
    const x = LEFT + (at + 0.5) * scale.step;
    if (x + room / 3 < width) found.push(h("text.mid", {x: x.toFixed(1), y: scale.low + 16}, data.named(at)));
  }
  return found;
}

const SHAPES = {
  compaction: (x, base) => `M${x} ${TOP - 8}V${base}`,
  prune: x => `M${x - 5} ${TOP - 10}h10l-5 8z`,
  task: x => `M${x - 4} ${TOP - 20}h8v8h-8z`,
  pause: x => `M${x - 2.5} ${TOP - 10}v8M${x + 2.5} ${TOP - 10}v8`,
};

function marked({data, scale}) {
  const place = mark => Math.round(LEFT + mark.at * scale.step) + 0.5, made = [];
  for (const [kind, shape] of Object.entries(SHAPES)) {
    const found = data.marks.filter(mark => mark.kind === kind);
    if (found.length) made.push(h(`path.mark.${kind}`, {d: found.map(mark => shape(place(mark), scale.base)).join("")}));
  }
  let free = 0;
  data.marks.filter(mark => mark.kind === "compaction").forEach((mark, n) => {
    const x = place(mark);
    if (x < free) return;
    free = x + 18;
    made.push(h("text.mid.flag", {x, y: TOP - 13}, String(n + 1)));
  });
  return made;
}

function cursor({svg, scale, data, picked, width}) {
  if (!scale) return;
  const x = LEFT + (picked + 0.5) * scale.step;
  const words = data.marks.filter(mark => mark.at === picked).map(mark => mark.text).join(" · ").slice(0, 90);
  const room = words.length * 6.4 + 12;
  const [kind, at] = x + room < width ? ["", x + 10] : x > room ? [".to", x - 10] : ["", 6];
  svg.lastChild.replaceChildren(
    h("path", {d: `M${x.toFixed(1)} ${TOP}V${scale.low}`}),
    h("circle", {cx: x.toFixed(1), cy: scale.y(scale.totals[picked]).toFixed(1), r: 4}),
    words && h(`text.said${kind}`, {x: at.toFixed(1), y: TOP + 12}, words),
  );
}
