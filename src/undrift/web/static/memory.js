// The view of the memory: conflicts, what holds, what it superseded, what was forgotten; now or at a moment.
// Law: nothing is judged here. A change is the server's, and the page then shows what is on disk.

import {act, ask, button, count, failure, filterBox, h, heading, moment, number, own, pages, soft} from "./dom.js";
import {SAID_BY, facts, keyOf, line, named, short, whole} from "./memory_line.js";
import {tile} from "./parts.js";

const ROWS = 50;
const PAIRS = 5;
const WAIT_MS = 150;
const STATES = [["holds", "Holds"], ["superseded", "Superseded"], ["hidden", "Forgotten"]];
const EMPTY = {
  holds: "No line holds here.",
  superseded: "No line was superseded.",
  hidden: "No line was forgotten.",
};

export async function show(root, {key, signal}) {
  const wanted = key, view = new MemoryView(signal, wanted);
  root.append(heading("Memory"), ...view.parts);
  await view.load();
  if (wanted) view.reveal(wanted);
}

/** `wanted`: the id of a memory that the address names. */
class MemoryView {
  constructor(signal, wanted) {
    Object.assign(this, {signal, wanted, asOf: null, state: "holds", words: [], project: ""});
    this.sums = h("div");
    this.pairs = h("div");
    this.tools = h("div");
    this.list = h("div");
    this.time = timed(this);
    this.notice = h("div.notice", {role: "status", tabindex: "-1"});
    this.parts = [this.sums, this.pairs, this.time.element, this.tools, this.list, this.notice];
  }

  /** Read the memory again. `keepsList`: only the sums and the conflicts are drawn again. */
  async load(keepsList = false) {
    const when = this.asOf === null ? {} : {as_of: this.asOf};
    const mine = (this.asked = Symbol("newest"));
    const found = await ask("memory", this.signal, {id: this.wanted, ...when});
    if (mine !== this.asked) return;
    this.found = found;
    this.byKey = new Map(found.rows.map(row => [keyOf(row), row]));
    this.lost = new Map();
    this.disputed = new Map(found.conflicts.flatMap(({sides}, at) => sides.map(row => [keyOf(row), at])).reverse());
    if (!this.isPast) badged(found.counts.conflicts);
    for (const row of found.rows) {
      if (row.state !== "superseded") continue;
      const by = `${row.place}/${row.by}`;
      this.lost.set(by, [...(this.lost.get(by) ?? []), row]);
    }
    if (this.asOf === null) this.time.take(found.stops_ms);
    this.sums.replaceChildren(...summed(this));
    this.drawPairs();
    this.drawTools();
    if (!keepsList) this.draw(undefined, this.page?.from);
  }

  get isPast() {
    return this.asOf !== null;
  }

  drawPairs(from = 0) {
    this.pairs.replaceChildren(...conflicts(this, from));
  }

  /** Go up to a conflict. */
  toPair(at) {
    this.drawPairs(PAIRS * Math.floor(at / PAIRS));
    const place = this.pairs.querySelectorAll(".conflict")[at % PAIRS] ?? this.sums.firstChild;
    place.scrollIntoView();
    place.focus({preventScroll: true});
  }

  choose(state, id) {
    this.state = state;
    this.drawTools();
    this.draw(id);
  }

  drawTools() {
    const held = document.activeElement?.id;
    const states = STATES.filter(([name]) => name !== "hidden" || !this.isPast);
    if (!states.some(([name]) => name === this.state)) this.state = "holds";
    const chip = ([name, text]) =>
      h("button", {type: "button", id: `state-${name}`, "aria-pressed": String(name === this.state), onclick: () => this.choose(name)}, text, h("span.soft", ` ${number(this.found.counts[name])}`));
    this.filter ??= filterBox("Filter", "words, type, source", "", words => {
      this.words = words;
      this.draw();
    });
    const projects = [...new Set(this.found.rows.map(row => row.project))].sort();
    const option = name => h("option", {value: name, selected: name === this.project}, name || "all");
    const onchange = event => {
      this.project = event.target.value;
      this.draw();
    };
    const select = projects.length > 1 && [h("label", {for: "project"}, "Project"), h("select", {id: "project", onchange}, ["", ...projects].map(option))];
    this.tools.replaceChildren(h("div.chips", {role: "group", "aria-label": "Lines that are listed"}, states.map(chip)), h("div.filter", this.filter, select || ""));
    if (held) document.getElementById(held)?.focus({preventScroll: true});
  }

  /** List what the state, the filter and the project choose. `id`: of a memory whose page is shown first. */
  draw(id, from = 0) {
    const has = row => this.words.every(word => textOf(row).includes(word));
    const rows = this.found.rows.filter(row => row.state === this.state && (!this.project || row.project === this.project) && has(row));
    const drawn = some => h("ul.memories", some.map(row => line(this, row)));
    const at = id ? Math.max(0, rows.findIndex(row => row.id === id)) : Math.min(from, Math.max(0, rows.length - 1));
    const none = this.words.length || this.project ? "No line fits the filter." : EMPTY[this.state];
    this.page = rows.length ? pages(rows, ROWS, drawn, "line", ROWS * Math.floor(at / ROWS)) : null;
    this.list.replaceChildren(this.page ? h("section.card", this.page) : h("p.card.empty", none));
  }

  /** Carry out an action, and say what was done. `undo`: [text, action, given] of the way back. */
  async change(name, given, said, {undo, keepsList} = {}) {
    try {
      const done = await act(name, given, this.signal);
      await this.load(keepsList);
      const back = undo && button(undo[0], () => this.change(undo[1], undo[2], () => "It is back as it was."));
      this.notice.replaceChildren(h("p", said(done)), back || "", button("Close", () => this.notice.replaceChildren(), ".link"));
      this.notice.focus({preventScroll: true});
      return done;
    } catch (error) {
      if (!this.signal.aborted) this.notice.replaceChildren(failure(error));
      return null;
    }
  }

  /** Show the memory that the address names, on its page of the list. */
  reveal(id) {
    const row = this.found.rows.find(one => one.id === id);
    if (!row) return this.notice.replaceChildren(h("p", "The line of this address is not remembered any more."));
    this.choose(row.state, id);
    const place = this.list.querySelector(".named");
    setTimeout(() => place.scrollIntoView({block: "center"}));
  }
}

const textOf = row => (row.words ??= [row.text, row.type, SAID_BY[row.trust], row.project, row.speaker, row.source.text, row.source.title].join(" ").toLowerCase());

function summed(view) {
  const {counts, unread} = view.found, {conflicts: open, holds, superseded, hidden} = counts;
  if (!holds && !superseded && !hidden && !view.isPast) return [h("p.card.empty", "undrift remembers nothing yet. To add a line: ", h("code", 'undrift memory remember "TEXT"'))];
  const verdict = open
    ? h("p", {tabindex: "-1"}, h("b.bad", `${count(open, "conflict")} to settle: `), "two lines exclude each other, but both hold.")
    : h("p", {tabindex: "-1"}, h("b.good", "No conflict: "), "no two lines are known to exclude each other.");
  const go = state => () => {
    view.choose(state);
    view.tools.scrollIntoView();
    document.getElementById(`state-${state}`).focus({preventScroll: true});
  };
  const to = (many, text, state) => tile(number(many), button(text, go(state), ".link"));
  const tiles = [
    tile(number(open), button(open === 1 ? "open conflict" : "open conflicts", () => view.toPair(0), ".link")),
    to(superseded, "superseded", "superseded"),
    to(holds, "held now", "holds"),
    !view.isPast && to(hidden, "forgotten or pruned", "hidden"),
  ];
  const shown = view.found.rows.length < holds + superseded + hidden && soft(`The newest ${number(view.found.rows.length)} are listed.`);
  return [
    verdict,
    h("ul.tiles", tiles),
    shown || "",
    unread.length ? h("p.alert", "Could not be read: ", own(unread.join(", ")), ". ", h("code", "undrift doctor"), " says why.") : "",
  ];
}

/** Write beside the link to the memory how many conflicts are open. */
export function badged(many) {
  const label = many > 0 && h("b.badge", String(many), h("span.hidden", ` ${many === 1 ? "conflict" : "conflicts"} to settle`));
  document.querySelector("nav [data-view=memory]").replaceChildren(...["Memory ", label].filter(Boolean));
}

function conflicts(view, from) {
  const found = view.found.conflicts;
  if (!found.length) return [];
  const drawn = some => h("div", some.map(one => pair(view, one))), more = view.found.counts.conflicts > found.length;
  return [h("section.card", h("h2", view.isPast ? "Conflicts that were open" : "Which one holds?"), view.isPast && soft("A conflict can be settled only now: go back to now first."), pages(found, PAIRS, drawn, "conflict", from), more && soft(`The surest ${number(found.length)} are listed.`))];
}

function pair(view, {sides, why, confidence}) {
  const side = (row, other) => {
    const given = {keep: {place: row.place, id: row.id}, drop: {place: other.place, id: other.id}};
    const back = {undo: ["Undo", "memory-restore", given.drop]};
    const said = () => ["Settled. Forgot “", own(short(other)), "”: no agent sees it any more."];
    const settle = named(row, "This one holds", () => view.change("memory-settle", given, said, back));
    const wide = other.scope === "user" && soft("The other one is then forgotten in every project.");
    const age = row.is_newer !== other.is_newer && h("span.state", row.is_newer ? "newer" : "older");
    return h("div.side", age, h("p.said", {dir: "auto"}, whole(row)), facts(row), !view.isPast && [settle, wide]);
  };
  const [one, other] = sides;
  return h("article.conflict", {tabindex: "-1"}, soft(`These two exclude each other (${Math.round(100 * confidence)}% sure). Both stay: ${why}.`), h("div.sides", side(one, other), side(other, one)));
}

/** The slider of moments: each of its steps is a change of the memory; its right end is now. */
function timed(view) {
  let stops = [], timer = 0;
  const said = h("output", {for: "as-of"}, "now"), back = button("Back to now", () => set(stops.length), ".link");
  const note = soft("What was held then. What was purged since is not shown. Lines are changed in the present.");
  const slider = h("input", {type: "range", id: "as-of", min: "0", max: "0", step: "1", oninput: () => set(Number(slider.value))});
  const element = h("div.card.time", {hidden: true}, h("label", {for: "as-of"}, "As of"), slider, said, back, note);
  const write = at => {
    const text = at < stops.length ? moment(stops[at]) : "now";
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", text);
    said.textContent = text;
    back.hidden = note.hidden = at >= stops.length;
  };
  const set = at => {
    write(at);
    view.notice.replaceChildren();
    clearTimeout(timer);
    timer = setTimeout(() => {
      view.asOf = at < stops.length ? stops[at] : null;
      view.load().catch(error => view.signal.aborted || view.notice.replaceChildren(failure(error)));
    }, WAIT_MS);
  };
  const take = found => {
    stops = found;
    slider.max = String(stops.length);
    element.hidden = !stops.length;
    write(stops.length);
  };
  return {element, take};
}
