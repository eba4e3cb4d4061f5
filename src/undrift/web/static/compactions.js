// The view of a session's compactions: what was needed afterwards, and where it stood.
// Law: the findings are those of `undrift autopsy`; what a summary hides is called unknown, not lost.

import {ask, count, h, moment, money, number, own, pages, share, soft, span, table, tokens} from "./dom.js";
import {eachSecond, filledTo, top} from "./parts.js";

const ROWS = 20;
const AT_ONCE = 6;
const TRIGGERS = {auto: ", automatic", manual: ", by hand"};
const NONE = "No compaction so far: nothing was thrown away.";
const INTRO = "Which names and lines of code the agent used after each compaction, and where they stood. No model is asked.";

export async function show(root, {key, signal}) {
  const query = `key=${encodeURIComponent(key)}`;
  const {session} = await ask(`api/session?${query}`, signal);
  const head = top(session, "compactions"), place = h("section", {"aria-label": "Compactions"});
  eachSecond(signal, head.tick);
  root.append(head, place);
  let seen = -1;
  const take = async many => {
    seen = many;
    if (!many) return place.replaceChildren(h("p.card.empty", NONE));
    waiting(place, signal);
    try {
      const found = await ask(`api/compactions?${query}`, signal);
      const drawn = rows => h("div", rows.map(card));
      place.replaceChildren(soft(INTRO), pages([...found.compactions].reverse(), AT_ONCE, drawn, "compaction"));
    } catch (error) {
      if (!signal.aborted) place.replaceChildren(h("p.alert", {role: "alert"}, error.message));
    }
  };
  take(session.compactions);
  return value => {
    const one = value.sessions.find(other => other.key === key);
    if (one && one.compactions !== seen) take(one.compactions);
  };
}

/** Show that undrift is at work, and for how long. */
function waiting(place, signal) {
  const clock = h("p.soft", {"aria-hidden": "true"}, "0:00"), begun = Date.now();
  const words = h("p", {role: "status"}, "Comparing each summary with what the agent used next…");
  place.replaceChildren(h("div.card.waiting", h("i.work"), words, clock));
  eachSecond(signal, () => (clock.textContent = span((Date.now() - begun) / 1_000)));
}

function card(one) {
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
    again(one),
    rules(one.rules),
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

const AGAIN = [["call", "figures"], ["what was read again", "grow"], ["tool", "wide"], ["tokens", "figures"]];

function again({fetches, texts}) {
  if (!fetches.length) return soft("No result was read again.");
  const cells = one => [`+${number(one.call)}`, h("code", {dir: "auto"}, one.what), own(one.tool), number(one.tokens)];
  const drawn = rows => table("Results that were read again", AGAIN, rows.map(cells));
  const place = h("div");
  const ontoggle = () => place.firstChild || place.append(pages(fetches, ROWS, drawn, "result"));
  const sum = texts.read_again ? `, ${tokens(texts.read_again.tokens)} tokens` : "";
  return h("details", {ontoggle}, h("summary", `${count(fetches.length, "result")} read again${sum}`), place);
}

function rules({before, lost}) {
  if (!lost.length) return before > 0 && h("p", `${count(before, "rule")} of yours before it; none was lost.`);
  const drawn = rows => h("ul.rules", rows.map(text => h("li", {dir: "auto"}, text)));
  return [h("h3", `${number(lost.length)} of ${count(before, "rule")} of yours never mentioned again`), pages(lost, ROWS, drawn, "rule")];
}
