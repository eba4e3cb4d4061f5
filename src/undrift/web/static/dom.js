// The one way into the document, and the formats of figures.
// Law: a text of a session becomes a text node or a plain attribute, never markup, a script or a foreign address.

const isGiven = one => one !== null && one !== undefined && one !== false;
const DRAWN = new Set(["svg", "path", "g", "text", "circle"]);

/** Make an element. `tag`: with its classes, "p.soft". `attributes`, if any: texts, true for a bare one, a function for an event. */
export function h(tag, attributes, ...children) {
  if (attributes?.constructor !== Object) return h(tag, {}, attributes, ...children);
  const [name, ...classes] = tag.split(".");
  const made = DRAWN.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (!isGiven(value)) continue;
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (/^(on|style|src)/.test(key)) throw new Error(`no text may become ${key}`);
    else if (key === "href" && !String(value).startsWith("#")) throw new Error("a link stays on this page");
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter(isGiven));
  return made;
}

/** A text of a session: its own direction cannot turn what stands beside it. */
export const own = text => h("bdi", text);

/** A line or name of a session, as code. */
export const code = text => h("code", {dir: "auto"}, text);

export const failure = error => h("p.alert", {role: "alert"}, error.message);

/** A card with its heading. */
export const section = (title, ...children) => h("section.card", {"aria-label": title}, h("h2", title), children);

export const soft = (...children) => h("p.soft", ...children);

export const heading = (...children) => h("h1", {tabindex: "-1"}, ...children);

export const button = (text, onclick, kind = "") => h(`button${kind}`, {type: "button", onclick}, text);

/** A button about something; whoever only hears it hears about what. */
export function buttonOf(what, text, onclick, kind, id) {
  const made = button(text, onclick, kind);
  made.setAttribute("aria-label", `${text}: ${what}`);
  made.id = id ?? "";
  return made;
}

/** Ask a view of the server. `given`: its query. A refusal becomes an error with its sentence. */
export const ask = (name, signal, given = {}) => answered(`${name}?${new URLSearchParams(given)}`, {signal});

/** Carry out an action; it is on disk when the promise is kept. */
export const act = (name, given, signal) =>
  answered(name, {signal, method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(given)});

async function answered(path, options) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, {...options, cache: "no-store"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("undrift does not answer. Is `undrift web` still running?");
  }
  const value = await answer.json().catch(() => ({}));
  options.signal?.throwIfAborted();
  if (!answer.ok) throw new Error(value.error ?? `undrift answered with ${answer.status}`);
  return value;
}

/** 412, 3.2k, 87k, 1.2M. */
export function tokens(value) {
  const short = (unit, digits) => (value / unit).toFixed(digits).replace(/\.0$/, "");
  if (value < 1_000) return String(Math.round(value));
  if (value < 999_500) return `${short(1_000, value < 9_950 ? 1 : 0)}k`;
  return `${short(1_000_000, value < 99_950_000 ? 1 : 0)}M`;
}

/** $1.23; what is less than a cent is said so. */
export function money(usd) {
  if (usd === null || usd === undefined) return "no price";
  const size = Math.abs(usd), sign = usd < 0 ? "-" : "";
  if (size > 0 && size < 0.005) return `${sign}<$0.01`;
  return `${sign}$${size.toLocaleString("en-US", {minimumFractionDigits: 2, maximumFractionDigits: 2})}`;
}

/** A price with so many digits that a part of `whole` can be told from the next. */
export function finely(usd, whole = usd) {
  const size = Math.abs(usd ?? 0);
  if (!size || Math.abs(whole ?? 0) >= 10) return money(usd);
  return size < 0.00005 ? "<$0.0001" : `${usd < 0 ? "-" : ""}$${size.toFixed(4)}`;
}

/** "$0.0012 a turn"; nothing for no price or next to none. */
export const aTurn = usd => (usd >= 0.0001 ? `${usd >= 0.01 ? money(usd) : `$${usd.toFixed(4)}`} a turn` : "");

export const number = value => Math.round(value).toLocaleString("en-US");

export const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

/** 96%; never 100% of what is not whole, nor 0% of something. */
export function share(part, whole) {
  const value = whole ? Math.round((100 * part) / whole) : 0;
  if (value === 100 && part < whole) return "99%";
  return value === 0 && part > 0 ? "1%" : `${value}%`;
}

/** 4:05, or 1:02:03. */
export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds)), hours = Math.floor(whole / 3_600);
  const pad = value => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60) % 60;
  return `${hours ? `${hours}:${pad(minutes)}` : minutes}:${pad(whole % 60)}`;
}

const TIME = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
const DAY = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", year: "numeric"});

/** The last moment that has a date; the time of a stranger's record may be any number. */
const LAST_MS = 8.64e15;

/** "28 Nov 2026". */
export const day = ms => (ms <= LAST_MS ? DAY.format(ms) : "no day");

export const isToday = ms => ms <= LAST_MS && DAY.format(ms) === DAY.format(Date.now());

/** A time of today with its seconds, or a day with its time. */
export function moment(ms) {
  if (!ms || ms > LAST_MS) return "time not recorded";
  return isToday(ms) ? TIME.format(ms) : `${DAY.format(ms)}, ${TIME.format(ms).slice(0, 5)}`;
}

export function ago(ms) {
  const minutes = Math.floor((Date.now() - ms) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return isToday(ms) || minutes < 720 ? `${Math.floor(minutes / 60)} h ago` : DAY.format(ms);
}

/** `heads`: [text, class]; `rows`: of cells, the first a heading of its row. */
export function table(caption, heads, rows, kind = "") {
  const head = heads.map(([text, name]) => h("th", {scope: "col", class: name}, text));
  const cell = (one, n) => h(n ? "td" : "th", {scope: n ? null : "row", class: heads[n][1]}, one);
  const body = rows.map(row => h("tr", row.map(cell)));
  const lines = [h("thead", h("tr", head)), h("tbody", body)];
  return h("table", {class: kind}, h("caption.hidden", caption), lines);
}

/** Whether a key is meant for a field, a dialog or the browser, not for the page. */
export const isTaken = event => event.ctrlKey || event.metaKey || (event.altKey && /\w/.test(event.key)) || event.target.closest?.("input, textarea, select, dialog");

const WAIT_MS = 130;

export const wordsOf = text => text.toLowerCase().split(/\s+/).filter(Boolean);

/** A box whose words choose rows; `onWords` hears them when the typing rests. */
export function filterBox(label, placeholder, value, onWords) {
  let timer = 0;
  const oninput = event => {
    clearTimeout(timer);
    timer = setTimeout(() => onWords(wordsOf(event.target.value)), WAIT_MS);
  };
  return [h("label", {for: "filter"}, label), h("input", {type: "search", id: "filter", autocomplete: "off", placeholder, value, oninput})];
}

/** A list, a page at a time, so that the document stays small. `draw`: rows -> an element. */
export function pages(rows, size, draw, noun, first = 0) {
  const place = h("div", {tabindex: "-1"});
  const go = (from, isAsked) => {
    const rest = Math.min(size, rows.length - from - size);
    const back = from > 0 && button(`Show the ${size} before`, () => go(from - size, true));
    const on = rest > 0 && button(`Show ${rest} more`, () => go(from + size, true));
    const said = `${noun}s ${number(from + 1)} to ${number(Math.min(from + size, rows.length))} of ${number(rows.length)}`;
    place.from = from;
    place.replaceChildren(draw(rows.slice(from, from + size)));
    if (back || on) place.append(h("p.pager", back, on, h("span", {role: "status"}, said)));
    if (!isAsked) return;
    place.focus({preventScroll: true});
    if (place.getBoundingClientRect().top < 0) place.scrollIntoView();
  };
  go(first, false);
  return place;
}
