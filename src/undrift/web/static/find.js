// The views of a search and of one original, a page at a time.
// Law: a query is text in the address and nothing else; words are marked by elements, never by markup.

import {ask, button, code, count, failure, h, heading, isTaken, moment, number, own, pages, section, soft, table, tokens} from "./dom.js";
import {SAID_BY} from "./memory_line.js";
import {address, clientOf, leftAddress, projectOf, titled} from "./parts.js";

const ROWS = 20;
const LINES_AT_ONCE = 8;
const MOST_MARKS = 8;
const MOST_QUERY = 1_000, NEWEST = 5;
const EXAMPLES = ["parser", "claude opus", "src/app.py"];

export const searchAddress = words => `#/find/${encodeURIComponent(words.slice(0, MOST_QUERY).toWellFormed())}`;

export const originalAddress = (project, ref, words = "") =>
  `#/original/${encodeURIComponent(project)}/${encodeURIComponent(ref)}${words && `/${encodeURIComponent(words)}`}`;

/** Make the box of the shell search; so does the key /. */
export function searching(form) {
  const box = form.querySelector("input");
  form.addEventListener("submit", event => {
    event.preventDefault();
    location.hash = searchAddress(box.value.trim());
  });
  addEventListener("keydown", event => {
    if (event.key !== "/" || isTaken(event)) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}

export async function show(root, {key: query, now, signal}) {
  const box = document.querySelector(".search input");
  if (document.activeElement !== box) box.value = query;
  if (!query.trim()) return void root.append(heading("Find"), hints());
  const said = h("p.soft", {role: "status"}, "Searching…");
  root.append(heading("Results for “", own(query.slice(0, 200)), "”"), said);
  const found = await ask("find", signal, {q: query});
  const mark = marker(found.words), asked = found.query;
  const groups = [
    ["Sessions", found.sessions, one => sessionRow(one, mark), "session"],
    ["Memories", found.memories, one => memoryRow(one, mark), "memory"],
    ["Originals", found.originals, one => originalRow(one, mark, asked), "original"],
  ].filter(([, rows]) => rows.length);
  const sections = groups.map(group => listed(...group));
  const jumps = groups.map(([, rows, , noun], n) => [n > 0 && " · ", button(counted(rows.length, noun), () => go(sections[n]), ".link")]);
  said.replaceChildren(...(groups.length ? jumps.flat().filter(Boolean) : ["Nothing was found among titles, memories and removed texts. What still stands in a window is not searched here: ask its session below."]));
  if (found.unread.length) root.append(h("p.note", "These records could not be read: ", own(found.unread.map(one => one || "no project").join(", ")), "."));
  const {sessions} = now ?? (await ask("now", signal));
  root.append(...sections, sessions.length ? inLeft(sessions, asked) : "", groups.length ? "" : hints());
}

/** The way into what was removed from the newest windows, which alone have what clients compacted. */
function inLeft(sessions, words) {
  const link = one => h("li", h("a", {href: leftAddress(one.key, words)}, own(titled(one))), h("span.soft", own(` ${projectOf(one)} · ${moment(one.last_ms)}`)));
  return section(
    "Did a session forget it?",
    soft("Look in what was removed from its window, also by the client’s own compactions:"),
    h("ul.brief", sessions.slice(0, NEWEST).map(link)),
  );
}

function go(part) {
  part.scrollIntoView();
  part.focus({preventScroll: true});
}

const counted = (value, noun) => (noun === "memory" ? `${number(value)} ${value === 1 ? "memory" : "memories"}` : count(value, noun));

function hints() {
  const link = text => h("li", h("a", {href: searchAddress(text)}, text));
  return h(
    "div.card",
    h("p", "Looks for words in the names of sessions, projects and models, in memories, and in texts that were removed from a window."),
    h("ul.examples", EXAMPLES.map(link)),
    soft("A reference, an id of a memory or the key of a session finds just that. Recordings themselves are not searched."),
  );
}

function listed(title, rows, draw, noun) {
  const drawn = some => h("ul.found", some.map(draw));
  const made = section(title, pages(rows, ROWS, drawn, noun === "memory" ? "memorie" : noun));
  made.tabIndex = -1;
  return made;
}

const row = (link, text, about) => h("li", link, text, soft(about));

const dotted = (...texts) => texts.filter(Boolean).join(" · ");

function sessionRow(one, mark) {
  const about = [own(mark(projectOf(one))), " · ", own(dotted(clientOf(one), one.model)), ` · ${moment(one.last_ms)}`];
  return row(h("a", {href: address(one.key)}, own(mark(titled(one)))), null, about);
}

function memoryRow(one, mark) {
  const link = h("a", {href: `#/memory/${encodeURIComponent(one.id)}`}, own(mark(one.text)));
  const place = one.scope === "user" ? "every project" : own(one.project || "no project");
  const type = one.type.replaceAll("_", " ");
  return row(link, null, [one.is_superseded && h("b", "superseded · "), one.is_near && "a similar meaning · ", place, ` · ${type}, ${SAID_BY[one.trust] ?? one.trust} · ${moment(one.at_ms)}`]);
}

function originalRow(one, mark, asked) {
  const link = h("a", {href: originalAddress(one.project_key, one.ref, asked)}, own(one.what));
  const size = one.tokens === null ? "" : ` · ${tokens(one.tokens)} tokens`;
  const alike = one.alike ? ` · ${number(one.alike)} more like it` : "";
  const from = one.session_key && [" · ", h("a", {href: address(one.session_key)}, "its session"), " · ", h("a", {href: leftAddress(one.session_key, one.ref)}, "bring it back")];
  return row(link, h("p", own(mark(one.snippet))), [own(one.project || "no project"), `${size}${one.at_ms ? ` · ${moment(one.at_ms)}` : ""}${alike}`, from]);
}

/** A function that gives a text as pieces, those with one of the words marked. */
function marker(words) {
  const escaped = words.filter(Boolean).sort((a, b) => b.length - a.length).map(word => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  if (!escaped.length) return text => [text];
  const pattern = new RegExp(`(${escaped.join("|")})`, "i");
  return text => {
    const pieces = [];
    let rest = text;
    for (let found; pieces.length < 2 * MOST_MARKS && (found = pattern.exec(rest)); rest = rest.slice(found.index + found[0].length)) {
      pieces.push(rest.slice(0, found.index), h("mark", found[0]));
    }
    return [...pieces, rest];
  };
}

export async function original(root, {key: project, tab: ref, words, signal}) {
  const place = h("div");
  root.append(place);
  const load = async (page, isAsked) => {
    const found = await ask("original", signal, {project, ref, q: words, page});
    place.replaceChildren(...drawn(found, words, to => load(to, true).catch(error => failed(place, error))));
    if (isAsked) place.querySelector("#text").focus();
    return found;
  };
  const found = await load(1, false);
  if (!found.place && found.session_key) named(place, found, signal).catch(() => {});
}

/** Write which file or command it is of; its session's list knows it. */
async function named(place, {session_key: key, ref}, signal) {
  const {rows} = await ask("left", signal, {key}), row = rows.find(one => one.ref === ref);
  if (row?.place) place.querySelector("#place").replaceChildren(code(row.place));
}

function failed(place, error) {
  place.querySelector(".told")?.remove();
  place.prepend(h("div.told", failure(error)));
}

const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

function drawn(found, words, go) {
  const mark = marker(words.toLowerCase().split(/\s+/).slice(0, 32));
  const session = found.session_key && [" · ", h("a", {href: address(found.session_key)}, "its session")];
  const about = soft(own(found.project || "no project"), ` · ${tokens(found.tokens)} tokens${found.at_ms ? ` · ${moment(found.at_ms)}` : ""}`, session);
  const saved = found.tokens_saved ? ` It saved ${number(found.tokens_saved)} tokens.` : "";
  const reason = `${capital(found.kind)}: ${found.reason}.${saved}`;
  const left = found.kind && (found.why ? [h("p", found.why), h("details", h("summary", "in figures"), soft(own(reason)))] : h("p", own(reason)));
  const back = found.kind && found.session_key && h("p", h("a", {href: leftAddress(found.session_key, found.ref)}, "Bring it back, pin or purge it"));
  const masked = found.masked > 0 && h("p.note", `${count(found.masked, "secret")} in it ${found.masked === 1 ? "was" : "were"} masked.`);
  const part = found.pages > 1 ? `part ${number(found.page)} of ${number(found.pages)}, from line ${number(found.first_line)}` : "";
  const size = h("span", {role: "status"}, [count(found.characters, "character"), part].filter(Boolean).join(" · "));
  const before = found.page > 1 && button("Show the part before", () => go(found.page - 1));
  const on = found.page < found.pages && button("Show the next part", () => go(found.page + 1));
  return [
    h("header", h("p.eyebrow", h("a", {href: searchAddress(words)}, "Find"), " / original ", h("code", found.ref)), heading(own(capital(found.what))), h("p", {id: "place"}, found.place && code(found.place)), about, left, back),
    masked,
    found.lines.length > 0 && linesOf(found, mark, go),
    h("section.card", {"aria-label": "The text", id: "text", tabindex: "-1"}, h("h2", "The text"), h("pre", {dir: "auto"}, found.text)),
    h("p.pager", before, on, size),
  ].filter(Boolean);
}

const LINES = [["line", "figures"], ["text", "grow"]];

function linesOf(found, mark, go) {
  const jump = one => (found.pages > 1 ? button(number(one.number), () => go(one.page), ".link") : number(one.number));
  const cells = one => [jump(one), code(mark(one.text))];
  return section("Lines with the words", pages(found.lines, LINES_AT_ONCE, rows => table("Lines with the words", LINES, rows.map(cells), "lines"), "line"));
}
