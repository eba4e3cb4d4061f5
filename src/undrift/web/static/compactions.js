// The view of a session's compactions: what was needed afterwards, and where it stood.
// Law: the findings are those of `undrift autopsy`; what a summary hides is unknown, not lost.

import {ask, code, count, failure, h, moment, money, number, own, pages, share, soft, table, tokens} from "./dom.js";
import {facts, filledTo, liveTop} from "./parts.js";

const ROWS = 20;
const LINES = 120;
const AT_ONCE = 6;
const TRIGGERS = {auto: ", automatic", manual: ", by hand"};
const NONE = "The client has not compacted this session. What undrift removed stands under Removed.";
const INTRO = "Which names and lines of code the agent used after each compaction, and where they stood.";

export async function show(root, {key, signal}) {
  const {session} = await ask("session", signal, {key});
  const head = liveTop(session, "compactions", signal), place = h("section", {"aria-label": "Compactions"});
  root.append(head, place);
  let seen = -1;
  const take = async many => {
    seen = many;
    if (!many) return place.replaceChildren(h("p.card.empty", NONE));
    place.replaceChildren(waiting());
    try {
      const found = await ask("compactions", signal, {key});
      const drawn = rows => h("div", rows.map(one => card(one, key, signal)));
      place.replaceChildren(soft(INTRO), pages([...found.compactions].reverse(), AT_ONCE, drawn, "compaction"));
    } catch (error) {
      if (!signal.aborted) place.replaceChildren(failure(error));
    }
  };
  take(session.compactions);
  return value => {
    head.update(value);
    const one = value.sessions.find(other => other.key === key);
    if (one && one.compactions !== seen) take(one.compactions);
  };
}

/** Show that undrift is at work. */
const waiting = () => h("div.card.waiting", h("i.work"), h("p", {role: "status"}, "Comparing each summary with what the agent used next…"));

function card(one, key, signal) {
  const {tokens_before: before, tokens_after: after} = one;
  const needed = one.needed.identifiers + one.needed.lines;
  const cost = one.usd === null ? "" : ` · cost ${money(one.usd)}`;
  const rest = before && after !== null && filledTo(after / before, "cached", {"aria-hidden": "true"});
  return h(
    "article.card.compaction",
    h("h2", `Compaction ${one.number}${TRIGGERS[one.trigger] ?? ""}`),
    soft(`${moment(one.at_ms)} · ${tokens(before)} → ${after === null ? "?" : tokens(after)} tokens${cost}`),
    rest,
    needed ? held(one) : h("p", `In the next ${count(one.window_calls, "call")} the agent used nothing that it had learned before.`),
    one.is_encrypted && h("p.note", "The client encrypted its summary: only its readable parts are counted."),
    one.hooks?.text && soft(`After it, ${one.hooks.text}.`),
    again(one),
    rules(one.rules),
    h("details", {ontoggle: event => opened(event.target, one, key, signal)}, h("summary", "The texts, what was needed, and each rule"), h("div")),
  );
}

const HELD = [["held by", "grow"], ["names", "share"], ["lines of code", "share"], ["its tokens", "figures wide"]];

function held({needed, texts, is_encrypted: isHidden, window_calls: calls}) {
  const rows = [
    [isHidden ? "the summary’s readable parts" : "the client’s own summary", texts.summary, "cached"],
    ["what undrift gave back", texts.given, "good"],
    [texts.given ? "undrift’s restore text, whole" : "what undrift would give back", texts.undrift, "good"],
    ["what the agent read again", texts.read_again, "written"],
  ].filter(([, text]) => text);
  const cell = (part, whole, kind) => (whole ? [h("b", `${number(part)} of ${number(whole)}`), filledTo(part / whole, kind)] : "none needed");
  const cells = ([name, text, kind]) => [name, ...["identifiers", "lines"].map(one => cell(text[one], needed[one], kind)), tokens(text.tokens)];
  const both = [needed.identifiers && count(needed.identifiers, "name"), needed.lines && `${count(needed.lines, "line")} of code`];
  const first = `In the next ${count(calls, "call")} the agent needed ${both.filter(Boolean).join(" and ")} from before. `;
  return [h("p.verdict", first, isHidden || verdict(needed, texts.summary)), table("Where it stood", HELD, rows.map(cells), "held")];
}

function verdict(needed, summary) {
  const whole = needed.identifiers + needed.lines, part = summary.identifiers + summary.lines;
  if (part >= whole) return h("b.good", "The summary held all of it.");
  return h("b.bad", part ? `The summary had lost ${share(whole - part, whole)} of it.` : "The summary held none of it.");
}

const AGAIN = [["call", "figures"], ["what was read again", "grow"], ["tool", "wide"], ["tokens", "figures wide"], ["known before", "figures"], ["price", "figures"]];

function again({fetches, fetched, texts}) {
  if (!fetches.length) return soft("No result was read again.");
  const cells = one => [`+${number(one.call)}`, code(one.what), own(one.tool), number(one.tokens), number(one.known_tokens), money(one.usd)];
  const drawn = rows => table("Results that were read again", AGAIN, rows.map(cells));
  const place = h("div");
  const ontoggle = () => place.firstChild || place.append(pages(fetches, ROWS, drawn, "result"), soft(AGAIN_FOOT));
  const sum = `, ${tokens(texts.read_again.tokens)} tokens known before${fetched.usd === null ? "" : `, ${money(fetched.usd)}`}`;
  const some = fetched.count > fetches.length ? `; the first ${number(fetches.length)} are listed` : "";
  return h("details", {ontoggle}, h("summary", `${count(fetched.count, "result")} read again${sum}${some}`), place);
}

const AGAIN_FOOT = "The price is that of the known part, in the first prompt with it; each later prompt reads it from the cache.";

function rules({before, lost}) {
  if (!lost.length) return before > 0 && h("p", `${count(before, "rule")} of yours before it; none was lost.`);
  const drawn = rows => h("ul.rules", rows.map(text => h("li", {dir: "auto"}, text)));
  return [h("h3", `${number(lost.length)} of ${count(before, "rule")} of yours never mentioned again`), pages(lost, ROWS, drawn, "rule")];
}

/** Fill the part of a card that is asked for only when it is opened. */
async function opened(details, one, key, signal) {
  const place = details.lastChild;
  if (!details.open || place.firstChild) return;
  place.append(h("p.soft", {role: "status"}, "Reading the session…"));
  try {
    const found = await ask("compaction", signal, {key, number: one.number});
    place.replaceChildren(h("div.columns.beside", textsOf(found, one), neededOf(found)), ...fates(found.rules));
  } catch (error) {
    if (!signal.aborted) place.replaceChildren(failure(error));
  }
}

function textsOf({summary, given, undrift}, {hooks}) {
  const hidden = "The client encrypted its summary: nobody but the provider can read it.";
  const counts = hooks && Object.entries(hooks.counts).filter(([, value]) => value > 0);
  return h(
    "div",
    text("The client’s summary", summary.written, summary.is_encrypted ? hidden : "The recording holds no summary.", true),
    summary.kept && text("What the client kept or attached again", summary.kept),
    given && text("What undrift gave back", given, "", true),
    hooks && [h("h3", "Counted by undrift’s hook"), facts(counts.map(([name, value]) => ["", name, number(value)]))],
    hooks && !given && soft("The recording does not hold the text that undrift gave back."),
    undrift && text(given ? "undrift’s restore text, whole" : "What undrift would give back", undrift),
  );
}

function text(title, found, none = "", isOpen = false) {
  if (!found) return [h("h3", title), soft(none)];
  const drawn = rows => h("pre", {dir: "auto", tabindex: "0", "aria-label": title}, rows.join("\n"));
  const cut = found.is_cut && soft(`The first part of ${number(found.characters)} characters.`);
  const summary = h("summary", `${title}, ${tokens(found.tokens)} tokens`);
  return h("details", {open: isOpen}, summary, pages(found.text.split("\n"), LINES, drawn, "line"), cut);
}

const NEEDED = [["needed later", "grow"], ["held by", "holder"]];
const KINDS = {file: "file", identifier: "name", line: "line of code"};
const HOLDERS = [["summary", "the summary"], ["given", "undrift gave it back"], ["undrift", "undrift’s text"], ["read_again", "read again"]];

function neededOf({needed: {rows, count: whole, by, in_no_text: none}}) {
  if (!whole) return h("div", h("h3", "What was needed later"), soft("Nothing that the agent had learned before."));
  const holders = row => HOLDERS.filter(([name]) => row[name]).map(([, words]) => words).join(", ");
  const where = row => holders(row) || h("b.bad", "no text");
  const named = row => [code(row.text), row.from && row.from !== row.text && h("span.soft", `${KINDS[row.kind]} from `, own(row.from))];
  const drawn = some => h("div.list.whole", table("What was needed later", NEEDED, some.map(row => [named(row), where(row)])));
  const said = `${number(by.summary)} of ${number(whole)} in the summary, ${number(by.undrift)} in undrift’s text, ${number(none)} in no text.`;
  const some = whole > rows.length ? ` The first ${number(rows.length)} are listed.` : "";
  return h("div", h("h3", "What was needed later"), soft(said, some), pages(rows, ROWS, drawn, "name"));
}

const FATES = {
  summary: ["in the summary", "good"],
  given: ["undrift gave it back", "good"],
  later: ["mentioned later, in no summary", ""],
  result: ["only in a later result", ""],
  open: ["too early to say", ""],
  lost: ["never mentioned again", "bad"],
};

function fates({rows, before, after}) {
  if (!before) return [];
  const cells = row => [h("span", {dir: "auto"}, row.text), h(`b.${FATES[row.fate][1] || "plain"}`, FATES[row.fate][0])];
  const drawn = some => table("Your rules", [["rule of yours", "grow"], ["after the compaction", "holder"]], some.map(cells));
  return [h("h3", `Rules: ${number(before)} before, ${number(after)} in the window after it`), pages(rows, ROWS, drawn, "rule")];
}
