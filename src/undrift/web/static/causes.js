// What prompts cost and why: the causes, the dearest prompts, and how each cause is counted.
// Law: the causes sum up to the price; a cause that is not known has a word, no figure.

import {ask, button, count, finely, h, moment, money, number, share, soft, table, tokens} from "./dom.js";
import {address, bar, onTurn, renew, swatch} from "./parts.js";

export const CAUSES = [
  ["tools", "system prompt and tools"],
  ["history", "history read from the cache"],
  ["work", "new work"],
  ["fetched", "results read again"],
  ["rewritten", "cache written again"],
];
const NAMES = Object.fromEntries(CAUSES);
const REASONS = {
  compaction: "after a compaction",
  pause: "after a pause",
  prune: "after undrift removed something before it",
  change: "without a pause: the prompt or model changed, or no reason is recorded",
};
const COUNTED = [
  ["system prompt and tools", "The first prompt less the texts recorded in it, at most the smallest prompt. It stands first in each prompt."],
  ["history read from the cache", "The rest of what the provider reports as read: earlier turns."],
  ["new work", "The rest of what was written or sent plain: your words, results, the model’s own answers."],
  ["results read again", "Results in the 30 calls after a compaction that had been read before it, by half or more. An estimate: characters / 4."],
  ["cache written again", "The first prompt after a compaction, and each that read less than half of what stood in the cache."],
];
const ELSEWHERE = {tools: "in the other rows", fetched: "in new work"};
const FOOT = "Prompts alone, without answers and sub-agents. A token that was not read has the mean price of those in its prompt.";

const HEADS = [["cause", "grow"], ["tokens", "figures wide"], ["share", "figures"], ["price", "figures"]];

export const sizesOf = (row, of = one => one) => CAUSES.map(([name]) => [name, (of(row[name]) ?? 0) * 1e6]);

/** The causes of a price. `found`: as `api/causes` gives it. */
export function causesPart(title, found, ...more) {
  const {usd, unpriced, prompts, causes} = found;
  const whole = usd ?? found.tokens, valueOf = one => (usd === null ? one.tokens : one.usd);
  const cells = ([name, text]) => {
    const one = causes[name], value = valueOf(one);
    const known = value !== null && value !== undefined;
    return [h("span", swatch(name), text, reasons(name, found)), one.tokens === null ? "" : tokens(one.tokens),
      known ? share(value, whole) : "", known ? finely(one.usd, usd) : ELSEWHERE[name]];
  };
  const rest = unpriced > 0 && unpriced < prompts && `, ${number(unpriced)} of them without a price`;
  return h(
    "section.card.causes",
    h("h2", {tabindex: "-1"}, title),
    h("p.figure", h("b", money(usd)), ` for ${count(prompts, "prompt")}`, rest, `, ${tokens(found.tokens)} tokens`),
    bar(sizesOf(causes, valueOf), {"aria-hidden": "true"}),
    table(title, HEADS, CAUSES.map(cells)),
    missing(found),
    more,
    h("details", h("summary", "How each cause is counted"), h("dl.terms", COUNTED.map(([name, text]) => h("div", h("dt", name), h("dd", text)))), soft(FOOT)),
  );
}

/** What most of a price was for, as a button that leads there. */
export function mostly({usd, tokens: all, causes}, go) {
  const valueOf = name => (usd === null ? causes[name].tokens : causes[name].usd) ?? 0, whole = usd ?? all;
  const [name, text] = CAUSES.reduce((most, one) => (valueOf(one[0]) > valueOf(most[0]) ? one : most));
  const part = valueOf(name);
  return whole > 0 ? button(`${part * 2 >= whole ? "mostly" : "most of it"} ${text}, ${share(part, whole)}`, go, ".link") : "";
}

function reasons(name, {rewritten, usd: whole}) {
  if (name !== "rewritten") return null;
  const one = ([reason, {prompts, tokens: size, usd}]) =>
    prompts > 0 && h("li", `${count(prompts, "prompt")} ${REASONS[reason]}, ${usd === null ? `${tokens(size)} tokens` : finely(usd, whole)}`);
  return h("ul.soft", Object.entries(rewritten).map(one));
}

function missing({unknown, prompts}) {
  const said = [
    unknown.tools > 0 && unknown.tools < prompts && `In ${number(unknown.tools)} of ${count(prompts, "prompt")} system prompt and tools are in the other rows.`,
    unknown.fetched > 0 && unknown.fetched < prompts && `In ${number(unknown.fetched)} of ${count(prompts, "prompt")} results read again are counted as new work.`,
  ].filter(Boolean);
  return said.length ? soft(said.join(" ")) : null;
}

function dearest({dearest: rows}, key) {
  if (!rows.length) return null;
  const why = row => `${money(row.cause_usd)} ${NAMES[row.cause]}${row.reason ? `, ${REASONS[row.reason].split(":")[0]}` : ""}`;
  const turn = row => h("a", {href: address(key, `turn/${row.turn}`)}, number(row.turn));
  const cells = row => [turn(row), why(row), moment(row.at_ms), finely(row.usd, rows[0].usd)];
  const heads = [["turn", "figures"], ["most of it", "grow"], ["when", "figures wide"], ["price", "figures"]];
  return [h("h3", "The dearest prompts"), table("The dearest prompts", heads, rows.map(cells))];
}

/** What a session cost and why; empty until a prompt is recorded. `heard` gets it too; `update` takes the live sessions. */
export function sessionCauses(key, signal, heard) {
  const made = h("div");
  const take = async () => {
    const found = await ask("causes", signal, {key});
    renew(made, found.prompts > 0 && causesPart("What it cost, and why", found, dearest(found, key)));
    if (found.prompts) heard?.(found);
  };
  take().catch(() => {});
  made.update = onTurn(key, signal, take);
  return made;
}
