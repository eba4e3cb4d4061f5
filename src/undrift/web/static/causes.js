// What prompts cost and why: the causes as a bar and a table, the dearest prompts, and how each cause is counted.
// Law: the figures are the server's, and the causes sum up to the price; a cause that is not known has a word, no figure.

import {ask, count, h, moment, money, number, share, soft, table, tokens} from "./dom.js";
import {bar, onChange, renew, swatch} from "./parts.js";

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
  change: "without a pause: the prompt or the model changed, or the client does not record why",
};
const COUNTED = [
  ["system prompt and tools", "The first prompt less the recorded texts in it, at most the smallest prompt. It stands first in each prompt: read as far as the prompt was read, else written."],
  ["history read from the cache", "The rest of what the provider reports as read: earlier turns."],
  ["new work", "The rest of what was written or sent plain: your words, results, the model’s own answers."],
  ["results read again", "In the 30 calls after a compaction, results of which half or more had been read before it. Their size is an estimate: characters / 4."],
  ["cache written again", "The first prompt after a compaction; and each prompt of which less than half of what stood in the cache was read."],
];
const FOOT = "Prompts alone, at the model’s price; no answers, no sub-agents. A token that was not read has the mean price of those in its prompt.";

const HEADS = [["cause", "grow"], ["tokens", "figures wide"], ["share", "figures"], ["price", "figures"]];

export const sizesOf = (row, of = one => one) => CAUSES.map(([name]) => [name, (of(row[name]) ?? 0) * 1e6]);

/** The causes of a price. `found`: as `api/causes` gives it. */
export function causesPart(title, found, ...more) {
  const {usd, unpriced, prompts, causes} = found;
  const whole = usd ?? found.tokens, valueOf = one => (usd === null ? one.tokens : one.usd);
  const cells = ([name, text]) => {
    const one = causes[name], value = valueOf(one);
    const known = value !== null && value !== undefined;
    return [h("span", swatch(name), text, reasons(name, found)), one.tokens === null ? "not known" : tokens(one.tokens),
      known ? share(value, whole) : "", one.usd === null ? (known ? "no price" : "not known") : money(one.usd)];
  };
  const rest = unpriced > 0 && unpriced < prompts && `, ${number(unpriced)} of them without a price`;
  return h(
    "section.card.causes",
    h("h2", title),
    h("p.figure", h("b", usd === null ? "no price" : money(usd)), ` for ${count(prompts, "prompt")}`, rest, `, ${tokens(found.tokens)} tokens`),
    bar(sizesOf(causes, valueOf), {"aria-hidden": "true"}),
    table(title, HEADS, CAUSES.map(cells)),
    missing(found),
    more,
    h("details", h("summary", "How each cause is counted"), h("dl.terms", COUNTED.map(([name, text]) => h("div", h("dt", name), h("dd", text)))), soft(FOOT)),
  );
}

function reasons(name, {rewritten}) {
  if (name !== "rewritten") return null;
  const one = ([reason, {prompts, tokens: size, usd}]) =>
    prompts > 0 && h("li", `${count(prompts, "prompt")} ${REASONS[reason]}, ${usd === null ? `${tokens(size)} tokens` : money(usd)}`);
  return h("ul.soft", Object.entries(rewritten).map(one));
}

function missing({unknown, prompts}) {
  const said = [
    unknown.tools > 0 && `In ${number(unknown.tools)} of ${count(prompts, "prompt")} system prompt and tools cannot be told from the rest: they are counted with the other causes.`,
    unknown.fetched > 0 && `In ${number(unknown.fetched)} of ${count(prompts, "prompt")} results read again are counted as new work.`,
  ].filter(Boolean);
  return said.length ? soft(said.join(" ")) : null;
}

function dearest({dearest: rows}) {
  if (!rows.length) return null;
  const why = row => `${money(row.cause_usd)} ${NAMES[row.cause]}${row.reason ? `, ${REASONS[row.reason].split(":")[0]}` : ""}`;
  const cells = row => [number(row.turn), why(row), moment(row.at_ms), money(row.usd)];
  const heads = [["turn", "figures"], ["most of it", "grow"], ["when", "figures wide"], ["price", "figures"]];
  return [h("h3", "The dearest prompts"), table("The dearest prompts", heads, rows.map(cells))];
}

/** What a session cost and why. `update` of it takes the live sessions; it stays empty until a prompt is recorded. */
export function sessionCauses(key, signal) {
  const made = h("div");
  const take = async () => {
    const found = await ask(`api/causes?key=${encodeURIComponent(key)}`, signal);
    renew(made, found.prompts > 0 && causesPart("What it cost, and why", found, dearest(found)));
  };
  const stateOf = ({sessions}) => sessions.find(one => one.key === key)?.last_ms ?? 0;
  take().catch(() => {});
  made.update = onChange(signal, stateOf, take);
  return made;
}
