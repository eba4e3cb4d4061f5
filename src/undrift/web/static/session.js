// The view of one session: a bar a turn, what happened to its window, and the turn that is picked.
// Law: every figure is one that the provider reported; what has no price gets none.

import {ask, button, count, finely, h, moment, money, number, own, pages, share, soft, tokens} from "./dom.js";
import {mostly, sessionCauses} from "./causes.js";
import {chart} from "./chart.js";
import {address, facts, leftAddress, legend, liveTop, onTurn, readout, renew, tile} from "./parts.js";

const SERIES = [["cached", "read from the cache"], ["written", "written to the cache"], ["plain", "sent plain"]];
const MARKS = {compaction: "compaction", prune: "prune by undrift", pause: "pause, the cache was over", task: "task"};
const MOST_EVENTS = 12;

export async function show(root, {key, now, signal}) {
  const body = h("section", {"aria-label": "Timeline"}), why = h("span");
  const causes = sessionCauses(key, signal, found => why.replaceChildren(mostly(found, () => shown(causes))));
  const load = () => ask("session", signal, {key});
  let drawn = null;
  const take = found => {
    if (found.turns.length) (drawn ??= begun(body, found, why))(found);
    else body.replaceChildren(h("p.card.empty", "No turn is recorded yet. The first answer shows here by itself."));
  };
  const update = onTurn(key, signal, async () => take(await load()));
  if (now) update(now);
  const found = await load(), head = liveTop(found.session, "", signal);
  root.append(head, body, causes);
  take(found);
  return value => [head, {update}, causes].forEach(part => part.update(value));
}

function shown(causes) {
  causes.scrollIntoView();
  causes.querySelector("h2").focus({preventScroll: true});
}

/** Build the timeline of a session once; the function that is returned takes what is new. `why`: what most of the price was for. */
function begun(body, first, why) {
  let found = first;
  const tiles = h("ul.tiles"), kinds = h("div"), events = h("div"), said = readout();
  const promptOf = at => address(first.session.key, `turn/${found.turns[at].n}`);
  const open = h("a", "Open this prompt");
  const lines = chart({
    label: "Turn",
    format: tokens,
    worded: at => `turn ${at + 1} of ${found.turns.length}`,
    onPick: at => {
      said.replaceChildren(...worded(found, at));
      open.setAttribute("href", promptOf(at));
    },
    onOpen: at => (location.hash = promptOf(at)),
  });
  const go = at => {
    lines.pick(at);
    lines.element.focus();
  };
  const hint = h("span.keyed", "Point at a turn, or use the arrow keys. Enter or a double click opens its prompt.");
  const drawing = h("div.card", h("h2", "Tokens of each prompt"), kinds, lines.element, said, h("p.pager", open, hint));
  body.replaceChildren(tiles, forgotten(first.session.key), drawing, events);
  return value => {
    found = value;
    const held = tiles.contains(document.activeElement) ? document.activeElement : null;
    tiles.replaceChildren(...summed(found, why));
    if (held?.isConnected) held.focus({preventScroll: true});
    kinds.replaceChildren(legendOf(found));
    lines.set(charted(found));
    renew(events, ...happened(found, go));
  };
}

/** A box whose words are looked for in what was removed. */
function forgotten(key) {
  const box = h("input", {type: "search", id: "forgotten", autocomplete: "off", placeholder: "words, file or turn:20"});
  const look = () => (location.hash = leftAddress(key, box.value.trim()));
  box.addEventListener("keydown", event => event.key === "Enter" && look());
  return h("p.filter", h("label", {for: "forgotten"}, "Why did it forget"), box, button("Look in what was removed", look));
}

function legendOf({marks}) {
  const kinds = Object.entries(MARKS).filter(([kind]) => marks.some(mark => mark.kind === kind));
  const signs = kinds.map(([kind, text]) => h("li", h(`i.sign.${kind}`), text));
  return legend([...SERIES, ["answered", "answered, below on its own scale"]], signs);
}

const atOf = (mark, turns) => Math.max(0, Math.min(turns.length, mark.turn) - 1);

function charted({turns, marks, session}) {
  const values = name => Float64Array.from(turns, turn => turn[name]);
  return {
    series: SERIES.map(([name]) => ({name, values: values(name)})),
    over: {name: "answered", values: values("answered")},
    marks: marks.map(mark => ({...mark, at: atOf(mark, turns)})),
    limit: session.window.limit_tokens,
    named: at => String(turns[at].n),
    isNumbered: true,
  };
}

function summed({turns, marks, session, left_tokens: gone, left_blocks: blocks}, why) {
  const sum = {cached: 0, whole: 0, answered: 0, most: 0};
  for (const {cached, written, plain, answered} of turns) {
    const whole = cached + written + plain;
    sum.cached += cached;
    sum.whole += whole;
    sum.answered += answered;
    sum.most = Math.max(sum.most, whole);
  }
  const pauses = marks.filter(mark => mark.kind === "pause").length;
  const link = h("a", {href: address(session.key, "left")}, tokens(gone));
  const unpriced = session.unpriced ? `, ${number(session.unpriced)} without a price` : "";
  return [
    tile(money(session.usd), [`for ${count(turns.length, "prompt")} so far, without answers${unpriced}`, why]),
    tile(number(turns.length), session.compactions ? `turns, ${count(session.compactions, "compaction")}` : "turns"),
    tile(share(sum.cached, sum.whole), `of ${tokens(sum.whole)} prompt tokens were read from the cache`),
    tile(tokens(sum.most), "tokens in the largest prompt"),
    tile(tokens(sum.answered), "tokens answered"),
    blocks ? tile(link, `tokens removed from the window, ${number(blocks)} calls and results`) : tile(number(pauses), "pauses that ended the cache"),
  ];
}

function worded({turns, marks}, at) {
  const turn = turns[at], whole = turn.cached + turn.written + turn.plain;
  const here = marks.filter(mark => atOf(mark, turns) === at).map(mark => mark.text);
  const parts = SERIES.map(([name, text]) => [name, text, tokens(turn[name]) + (name === "cached" ? `, ${share(turn.cached, whole)}` : "")]);
  const entries = [["", "prompt", tokens(whole)], ...parts, ["answered", "answered", tokens(turn.answered)]];
  if (typeof turn.usd === "number") entries.push(["", "price of the prompt", finely(turn.usd)]);
  return [
    h("p", h("b", `Turn ${number(turn.n)}`), ` of ${number(turns.length)} · ${moment(turn.at_ms)}`, turn.model && own(` · ${turn.model}`)),
    facts(entries),
    here.length ? h("p.here", `Before it: ${here.join("; ")}.`) : "",
  ];
}

const SEEN_IN = {compaction: "compactions", prune: "left", task: "tasks"};

function happened({turns, marks, session}, go) {
  if (!marks.length) return [];
  const link = mark => button(mark.turn > turns.length ? "since then" : `turn ${number(mark.turn)}`, () => go(atOf(mark, turns)), ".link");
  const to = ({kind, turn}) => (kind === "prune" ? `left/turn:${Math.min(turn, turns.length)}` : SEEN_IN[kind]);
  const told = ({kind, text, turn}) => (SEEN_IN[kind] ? h("a", {href: address(session.key, to({kind, turn}))}, kind === "task" ? own(text) : text) : text);
  const entry = mark => h("li", h(`i.sign.${mark.kind}`), link(mark), h("span", told(mark)), h("span.soft", moment(mark.at_ms)));
  const sorted = [...marks].sort((a, b) => b.turn - a.turn);
  const drawn = rows => h("ul.events", rows.map(entry));
  return [h("div.card", h("h2", "What happened to the window"), pages(sorted, MOST_EVENTS, drawn, "event"))];
}
