// The view of the bill: what prompts cost, by day, project, model and session, and what undrift saved.
// Law: prices are the server's; a prompt without a price is counted and its model named, never guessed.

import {ask, count, h, heading, money, number, own, pages, share, soft, table} from "./dom.js";
import {chart} from "./chart.js";
import {address, bar, facts, legend, projectOf, readout, tile} from "./parts.js";

const SPANS = [["1", "Today"], ["7", "7 days"], ["30", "30 days"], ["366", "All"]];
const CAUSES = [["read", "read from the cache"], ["new", "new"], ["again", "written again"]];
const ROWS = 12;
const DAY_MS = 86_400_000;
const FOOT =
  "Prices of prompts, without answers: the provider’s counts at the model’s price. Days are in UTC. Written again: it stood in the cache before.";
const COUNTED = [
  "What was paid for the prompts, compared with the price of sending everything, from the usage of each answer.",
  " Rewrites are what undrift’s own prunes made the provider write again. Fetched again is what left and was read once more.",
];

export async function show(root, {days, signal}) {
  const chosen = SPANS.some(([one]) => one === days) ? days : "7";
  const link = ([one, text]) => h("a", {href: `#/bill/${one}`, "aria-current": one === chosen ? "page" : null}, text);
  const place = h("div", h("p.soft", {role: "status"}, "Reckoning…"));
  root.append(heading("Bill"), h("nav.tabs", {"aria-label": "Days"}, SPANS.map(link)), place);
  const found = await ask(`api/bill?days=${chosen}`, signal);
  place.replaceChildren(...drawn(found).filter(Boolean));
}

function drawn({prompts, unpriced, by, days, saved}) {
  if (!prompts) return [h("p.card.empty", "No prompt in these days. Choose more days."), balance(saved)];
  const project = row => own(row.name ? projectOf({project: row.name}) : "no project");
  return [
    h("ul.tiles", tiles(by.day, prompts)),
    unpriced > 0 && missing(unpriced, prompts, by.model),
    by.day.length > 1 && daily(everyDay(by.day, days)),
    balance(saved),
    h("div.columns", listed("Projects", by.project, project), listed("Models", by.model, row => own(row.name))),
    listed("Sessions", by.session, row => h("a", {href: address(row.name)}, own(row.title || row.name))),
    soft(FOOT),
  ];
}

function tiles(rows, prompts) {
  const sum = name => rows.reduce((all, row) => all + row[name], 0), whole = sum("usd");
  const cause = ([name, text]) => tile(money(sum(name)), `${text}, ${share(sum(name), whole)}`, name);
  return [tile(money(whole), count(prompts, "prompt")), ...CAUSES.map(cause)];
}

function missing(unpriced, prompts, rows) {
  const models = rows.filter(row => !row.usd).map(row => row.name);
  const named = models.length > 0 && own(` Models without a price: ${models.slice(0, 6).join(", ")}${models.length > 6 ? " and others" : ""}.`);
  return h("p.note", `${number(unpriced)} of ${count(prompts, "prompt")} have no price and are not in the sums.`, named);
}

const stamp = name => Date.parse(`${name}T00:00:00Z`);

/** Each day from the first to the last, those without a prompt too. */
function everyDay(rows, days) {
  const known = new Map(rows.map(row => [row.name, row]));
  const last = days > 30 ? stamp(rows.at(-1).name) : Date.now();
  const found = [];
  for (let at = days > 30 ? stamp(rows[0].name) : last - (days - 1) * DAY_MS; at <= last; at += DAY_MS) {
    const name = new Date(at).toISOString().slice(0, 10);
    found.push(known.get(name) ?? {name, prompts: 0, usd: 0, read: 0, new: 0, again: 0});
  }
  return found;
}

const SHORT = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", timeZone: "UTC"});

function daily(days) {
  const said = readout(), named = at => SHORT.format(stamp(days[at].name));
  const picked = (row, at) => [
    h("p", h("b", named(at)), ` · ${count(row.prompts, "prompt")} · ${money(row.usd)}`),
    facts(CAUSES.map(([name, text]) => [name, text, money(row[name])])),
  ];
  const bars = chart({
    label: "Day",
    format: usd => (usd % 1 ? money(usd) : `$${number(usd)}`),
    worded: at => `${named(at)}: ${money(days[at].usd)}`,
    onPick: at => said.replaceChildren(...picked(days[at], at)),
    height: 220,
    widest: 90,
  });
  bars.set({series: CAUSES.map(([name]) => ({name, values: Float64Array.from(days, row => row[name])})), over: null, marks: [], limit: 0, named});
  return h("div.card", h("h2", "Each day, by cause"), legend(CAUSES), bars.element, said);
}

const HEADS = [["name", "grow"], ["prompts", "figures wide"], ["by cause", "mini wide"], ["price", "figures"]];

function listed(title, rows, named) {
  const most = Math.max(...rows.map(row => row.usd));
  const cells = row => [named(row), number(row.prompts), causes(row, most), row.usd ? money(row.usd) : "no price"];
  const draw = some => h("div.list", table(title, HEADS, some.map(cells)));
  return h("section.card", h("h2", title), pages(rows, ROWS, draw, title.slice(0, -1).toLowerCase()));
}

function causes(row, most) {
  const made = bar(CAUSES.map(([name]) => [name, row[name] * 1e6]), {"aria-hidden": "true"}, "bar.thin");
  made.style.width = `${most ? Math.max(1, (100 * row.usd) / most) : 0}%`;
  return made;
}

function balance(found) {
  const title = h("h2", "What undrift saved");
  if (!found.sessions) {
    const command = h("code", "undrift wrap claude");
    return h("section.card", title, h("p", "undrift manages no window yet: ", command, " starts Claude Code behind its gateway."));
  }
  const {saved, rewrites, fetched, open, total, is_usd: isUsd} = found, said = isUsd ? money : number;
  const rows = [["saved", saved], ["rewrites", -rewrites], ["fetched again", -fetched], ["prunes without an answer yet", -open], ["balance", total]];
  const heads = [["part", "grow"], [isUsd ? "US dollars" : "tokens at the input price", "figures"]];
  return h(
    "section.card",
    title,
    h("p.figure", h(total < 0 ? "b.bad" : "b.good", said(total)), ` in ${count(found.sessions, "session")}, of all time`),
    soft(found.text),
    h("details", h("summary", "How it is counted"), h("p", COUNTED), table("The balance", heads, rows.map(([name, value]) => [name, said(value)]))),
  );
}
