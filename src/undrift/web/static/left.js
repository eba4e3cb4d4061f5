// The view of what left a session's window: each block with its reason, its tokens and when.
// Law: the rows are those of the store; the filter only hides. At most one page of them stands in the document.

import {ask, count, h, moment, number, own, pages, soft, table, tokens} from "./dom.js";
import {eachSecond, top} from "./parts.js";

const ROWS = 100;
const WAIT_MS = 120;

export async function show(root, {key, signal}) {
  const query = `key=${encodeURIComponent(key)}`;
  const [{session}, found] = await Promise.all([ask(`api/session?${query}`, signal), ask(`api/left?${query}`, signal)]);
  const head = top(session, "left");
  eachSecond(signal, head.tick);
  const body = found.count ? filled(found) : empty(session);
  root.append(head, h("section.card", {"aria-label": "What left"}, h("h2", "What left the window"), body));
}

function empty({client}) {
  const command = h("code", `undrift wrap ${client === "codex" ? "codex" : "claude"}`);
  return [
    h("p", "Nothing left this window through undrift."),
    soft("undrift manages the window of a client behind its gateway: ", command, " starts one."),
  ];
}

function filled(found) {
  const texts = found.rows.map(row => `${why(row)} ${row.kind} ${row.what} ${row.line} ${row.ref}`.toLowerCase());
  const list = h("div"), said = h("p.soft", {role: "status"});
  const draw = words => {
    const rows = found.rows.filter((_, n) => words.every(word => texts[n].includes(word)));
    const sum = rows.reduce((all, row) => all + row.tokens_saved, 0);
    said.textContent = words.length ? `${count(rows.length, "block")} of ${number(found.rows.length)}, ${tokens(sum)} tokens` : summed(found);
    list.replaceChildren(rows.length ? pages(rows, ROWS, listed, "block") : h("p.empty", "No block has these words."));
  };
  let timer = 0;
  const oninput = event => {
    clearTimeout(timer);
    timer = setTimeout(() => draw(event.target.value.toLowerCase().split(/\s+/).filter(Boolean)), WAIT_MS);
  };
  const box = h("input", {type: "search", id: "filter", autocomplete: "off", placeholder: "reason, tool, file or text", oninput});
  draw([]);
  return [h("p.filter", h("label", {for: "filter"}, "Filter"), box), said, list];
}

function summed({rows, count: whole, tokens: sum}) {
  const more = whole > rows.length ? `; the newest ${number(rows.length)} are listed` : "";
  return `${count(whole, "block")}, ${tokens(sum)} tokens fewer in the window${more}.`;
}

const HEADS = [["what it was", "grow"], ["reason", "wide"], ["tokens", "figures"], ["when", "figures wide"]];

function listed(rows) {
  const small = row => h("span.narrow", `${why(row)} · ${moment(row.at_ms)}`);
  const named = row => [own(row.what || row.kind), row.line && h("code", {dir: "auto"}, row.line), small(row)];
  const cells = row => [named(row), why(row), number(row.tokens_saved), moment(row.at_ms)];
  return h("div.list", table("Blocks that left the window", HEADS, rows.map(cells)));
}

const why = row => [row.reason || row.kind, row.moment, !row.is_away && "still in the window"].filter(Boolean).join(", ");
