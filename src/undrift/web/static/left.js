// The view of what left a session's window: each block with its reason, its tokens and when.
// Law: the rows are those of the store; the filter only hides. At most one page of them stands in the document.

import {ask, count, h, moment, number, own, pages, soft, table, tokens} from "./dom.js";
import {liveTop, onChange, renew} from "./parts.js";

const ROWS = 100;
const WAIT_MS = 120;

export async function show(root, {key, now, signal}) {
  const query = `key=${encodeURIComponent(key)}`;
  const [{session}, found] = await Promise.all([ask(`api/session?${query}`, signal), ask(`api/left?${query}`, signal)]);
  const head = liveTop(session, "left", signal), body = h("div");
  root.append(head, h("section.card", {"aria-label": "What left"}, h("h2", "What left the window"), body));
  let list = null;
  const draw = value => {
    if (list) return list.take(value);
    if (value.count) body.replaceChildren(...(list = filled(value)).elements);
    else body.replaceChildren(...empty(session));
  };
  const stateOf = ({sessions}) => sessions.find(one => one.key === key)?.last_ms ?? 0;
  const update = onChange(signal, stateOf, async () => draw(await ask(`api/left?${query}`, signal)));
  if (now) update(now);
  draw(found);
  return value => {
    head.update(value);
    update(value);
  };
}

function empty({client}) {
  const command = h("code", `undrift wrap ${client === "codex" ? "codex" : "claude"}`);
  return [
    h("p", "Nothing left this window through undrift."),
    soft("undrift manages the window of a client behind its gateway: ", command, " starts one."),
  ];
}

const textOf = row => `${why(row)} ${row.kind} ${row.what} ${row.line} ${row.ref}`.toLowerCase();

/** The list with its filter; `take` of it takes newer rows, and leaves the filter, the focus and the page as they are. */
function filled(first) {
  let found = first, texts = first.rows.map(textOf), words = [], shown = null;
  const list = h("div"), said = h("p.soft", {role: "status"});
  const draw = (from = 0) => {
    const rows = found.rows.filter((_, n) => words.every(word => texts[n].includes(word)));
    const sum = rows.reduce((all, row) => all + row.tokens_saved, 0);
    said.textContent = words.length ? `${count(rows.length, "block")} of ${number(found.rows.length)}, ${tokens(sum)} tokens` : summed(found);
    shown = rows.length ? pages(rows, ROWS, listed, "block", from < rows.length ? from : 0) : h("p.empty", "No block has these words.");
    renew(list, shown);
  };
  let timer = 0;
  const oninput = event => {
    clearTimeout(timer);
    words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    timer = setTimeout(draw, WAIT_MS);
  };
  const box = h("input", {type: "search", id: "filter", autocomplete: "off", placeholder: "reason, tool, file or text", oninput});
  draw();
  const take = value => {
    if (JSON.stringify(value) === JSON.stringify(found)) return;
    [found, texts] = [value, value.rows.map(textOf)];
    draw(shown.from);
  };
  return {take, elements: [h("p.filter", h("label", {for: "filter"}, "Filter"), box), said, list]};
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
