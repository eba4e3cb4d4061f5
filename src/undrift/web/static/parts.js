// What several views show: a session's name, its window as a bar, its prompt cache, legends, tiles, facts, dialogs.
// Law: every colour has its word beside it, and a figure that is not known is not drawn.

import {ago, count, day, h, heading, money, own, share, soft, span, tokens} from "./dom.js";

const PARTS = [
  ["system", "system and tools"],
  ["tools", "tools and the rest"],
  ["pins", "pins"],
  ["user", "your words"],
  ["results", "results"],
  ["answers", "answers"],
  ["calls", "calls"],
  ["free", "free"],
];
const NAMELESS = new Set(["Untitled session", "no name yet"]);
const CLIENTS = {__proto__: null, claude: "Claude Code", codex: "Codex", gemini: "Gemini CLI", copilot: "Copilot"};

export const address = (key, tab = "") => `#/session/${encodeURIComponent(key)}${tab && `/${tab}`}`;

/** The address of what was removed from a window and has the words. */
export const leftAddress = (key, words) => address(key, `left/${encodeURIComponent(words.toWellFormed()).replaceAll("%3A", ":")}`);

export const clientOf = one => CLIENTS[one.client] ?? (one.client || "unknown client");

/** The name of a session's folder; a recording of another system has the other slash. */
export const projectOf = one => one.project.split(/[\\/]/).filter(Boolean).at(-1) || "no project";

/** A session's title without its project, which stands above it. */
export function titled(one) {
  const project = projectOf(one), lead = `${project} · `;
  const rest = one.name.startsWith(lead) ? one.name.slice(lead.length) : one.name;
  const name = rest === project ? "Untitled session" : rest.replace(/^#+\s*/, "") || one.name;
  return NAMELESS.has(name) && one.last_ms ? `${name}, ${day(one.last_ms)}` : name;
}

export const swatch = name => h(`i.k.k-${name}`);

export const legend = (entries, ...more) =>
  h("ul.legend", entries.map(([name, text, figure]) => h("li", swatch(name), text, figure && h("b", ` ${figure}`))), more);

export const tile = (figure, text, kind) => h("li", h("b", figure), h("span", kind && swatch(kind), text));

export const facts = entries =>
  h("dl", entries.map(([name, text, figure]) => h("div", h("dt", name && swatch(name), text), h("dd", figure))));

export const readout = () => h("div.readout", {"aria-live": "polite", "aria-atomic": "true"});

export function bar(sizes, attributes, kind = "bar") {
  const pieces = sizes.filter(([, size]) => size > 0).map(([name, size]) => {
    const piece = swatch(name);
    piece.style.flexGrow = String(size);
    return piece;
  });
  return h(`div.${kind}`, attributes, pieces);
}

export function filledTo(part, kind, attributes) {
  const fill = swatch(kind);
  fill.style.width = `${100 * Math.min(1, part)}%`;
  return h("div.track", attributes, fill);
}

function about(one) {
  const amounts = count(one.turns, "turn") + (one.compactions ? `, ${count(one.compactions, "compaction")}` : "");
  const when = h("span");
  const price = typeof one.usd === "number" ? `${money(one.usd)} so far${one.unpriced ? ", not all has a price" : ""} · ` : "";
  const lead = [own(`${clientOf(one)} · ${one.model || "model unknown"}`), ` · ${amounts} · ${price}`];
  const made = soft(lead, when, one.is_managed && h("span.tag", "managed by undrift"));
  made.tick = () => {
    const text = ago(one.last_ms);
    if (when.textContent !== text) when.textContent = text;
  };
  return made;
}

/** How full a window is, in words: "87k of 200k". */
export const filled = ({limit_tokens: limit, used_tokens: used, is_counted: isCounted}) =>
  `${isCounted ? "" : "about "}${tokens(used)}${limit ? ` of ${tokens(limit)}` : ""}`;

const wordOf = (name, text, parts) => (name === "system" && "tools" in parts ? "system prompt" : text);

const sizesOf = ({parts, limit_tokens: limit, used_tokens: used}) =>
  PARTS.map(([name, text]) => [name, name === "free" ? limit - used : parts[name], wordOf(name, text, parts)]).filter(([, size]) => size > 0);

export const windowBar = (window, kind) => bar(sizesOf(window), {role: "img", "aria-label": `window: ${filled(window)} tokens`}, kind);

function windowOf({key, window}) {
  const {limit_tokens: limit, used_tokens: used, left_tokens: left} = window;
  const said = !limit ? "" : used > limit ? ", more than the model’s window" : `, ${share(used, limit)} full`;
  return h(
    "div",
    h("p.figure", h("b", filled(window)), ` tokens${said}`),
    h("div.barline", windowBar(window), left > 0 && h("a.gone", {href: address(key, "left")}, `${tokens(left)} removed from the window`)),
    legend(sizesOf(window).map(([name, size, text]) => [name, text, tokens(size)])),
  );
}

function cacheOf({cache}) {
  const clock = h("b"), word = h("span"), track = filledTo(0, "good");
  const price = (kind, usd) => h(`li.${kind}`, h("span", `next prompt, ${kind}`), h("b", money(usd)));
  const unknown = cache.tokens ? "This model has no price." : "No price is known yet.";
  const prices = cache.warm_usd === null ? soft(unknown) : h("ul.prices", price("warm", cache.warm_usd), price("cold", cache.cold_usd));
  const made = h("div.cache", h("p.figure", word, clock), track, prices);
  made.tick = () => {
    const rest_s = cache.cold_ms === null ? null : (cache.cold_ms - Date.now()) / 1_000;
    const state = rest_s === null ? "unknown" : rest_s <= 0 ? "over" : rest_s < 60 ? "soon" : "fresh";
    made.dataset.state = state;
    word.textContent = {unknown: "Cache: life not recorded", over: "The cache is cold"}[state] ?? "Cache cold in ";
    clock.textContent = rest_s > 0 ? span(rest_s) : "";
    if (rest_s > 0) track.firstChild.style.width = `${Math.min(100, (100 * rest_s) / (cache.life_s || rest_s))}%`;
  };
  return made;
}

/** A session; `tick` of it writes its clocks again. */
export function sessionPart(tag, attributes, one, title, kind = "pair") {
  const cache = cacheOf(one), when = about(one);
  const up = tag === "header" && [h("a", {href: "#/"}, "Sessions"), " / "];
  const made = h(tag, attributes, h("p.eyebrow", up, own(projectOf(one))), title, when, h(`div.${kind}`, windowOf(one), cache));
  made.tick = () => [cache, when].forEach(part => part.tick());
  made.tick();
  return made;
}

const TABS = [["", "Timeline"], ["compactions", "Compactions"], ["left", "Removed"], ["tasks", "Tasks"]];

/** A session in one line: its title, what is used of its window, its price. */
function brief(one) {
  const price = typeof one.usd === "number" ? ` · ${money(one.usd)} so far` : "";
  const lead = h("p.eyebrow", h("a", {href: "#/"}, "Sessions"), " / ", own(projectOf(one)));
  const made = h("header.oneline", lead, h("div.lead", heading(own(titled(one))), soft(`${filled(one.window)} tokens${price}`)));
  made.tick = () => {};
  return made;
}

function top(one, tab) {
  const made = tab ? brief(one) : sessionPart("header", {}, one, heading(own(titled(one))), "card.pair");
  const number = name => name === "compactions" && ` ${one.compactions}`;
  const link = ([name, text]) => h("a", {href: address(one.key, name), "aria-current": name === tab ? "page" : null}, text, number(name));
  made.append(h("nav.tabs", {"aria-label": "Views of this session"}, TABS.map(link)));
  return made;
}

/** The top of a session's view; `update` of it takes the live sessions. */
export function liveTop(one, tab, signal) {
  const place = h("div");
  let seen = "";
  place.update = ({sessions}) => {
    const found = sessions.find(other => other.key === one.key), text = JSON.stringify(found);
    if (!found || text === seen) return;
    seen = text;
    renew(place, top(found, tab));
  };
  place.update({sessions: [one]});
  eachSecond(signal, () => place.firstChild.tick());
  return place;
}

const FOCUSED = "a, button, summary, input, [tabindex]";

/** Put new elements into a place. What is open stays so, and the focus: on the same id or address, else in its row or order. */
export function renew(place, ...made) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const all = () => [...place.querySelectorAll(FOCUSED)];
  const at = focused ? all().indexOf(focused) : -1, href = focused?.getAttribute("href"), id = focused?.id, row = focused?.closest("li")?.id;
  const open = [...place.querySelectorAll("details")].map(one => one.open);
  const wanted = made.flat().filter(Boolean);
  if (wanted.length === 1 && wanted[0] === place.firstChild) return;
  place.replaceChildren(...wanted);
  place.querySelectorAll("details").forEach((one, n) => (one.open = open[n] ?? one.open));
  const isSame = one => (id ? one.id === id : href && one.getAttribute("href") === href);
  if (focused) (all().find(isSame) ?? (row ? document.getElementById(row) : all()[at]))?.focus({preventScroll: true});
}

/** Make what hears the live stream: it calls `take` if `stateOf` changed, one at a time, with some seconds between. */
export function onChange(signal, stateOf, take, gap_ms = 5_000) {
  let seen = null, wanted = null, timer = 0;
  const run = async () => {
    seen = wanted;
    await take().catch(() => {});
    timer = signal.aborted ? 0 : setTimeout(() => ((timer = 0), wanted !== seen && run()), gap_ms);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  return value => {
    wanted = stateOf(value);
    seen ??= wanted;
    if (wanted !== seen && !timer) {
      timer = -1;
      run();
    }
  };
}

/** Open a dialog; Escape closes it, and the focus returns to where it was. */
export function modal(title, ...children) {
  const held = document.activeElement, row = held.closest("li")?.id;
  const dialog = h("dialog.card", {"aria-labelledby": "dialog"}, h("h2", {id: "dialog"}, title), children);
  dialog.addEventListener("close", () => {
    dialog.remove();
    (held.isConnected ? held : (document.getElementById(held.id) ?? document.getElementById(row)))?.focus({preventScroll: true});
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** The same, for what one session's next turn changes. */
export const onTurn = (key, signal, take) => onChange(signal, ({sessions}) => sessions.find(one => one.key === key)?.last_ms ?? 0, take);

/** Call a function each second while the page is seen, until the view is left. */
export function eachSecond(signal, call) {
  const timer = setInterval(() => document.hidden || call(), 1_000);
  signal.addEventListener("abort", () => clearInterval(timer));
}
