// The view of the bill: what prompts cost, and what undrift saved.
// Law: a prompt without a price is counted and its model named, never guessed. New figures leave the focus, the page
// of a list and what is open as they are.

import {ask, count, h, heading, money, number, own, pages, section, soft, table} from "./dom.js";
import {CAUSES, causesPart, sizesOf} from "./causes.js";
import {chart} from "./chart.js";
import {address, bar, facts, legend, onChange, projectOf, readout, renew} from "./parts.js";

const SPANS = [["1", "Today"], ["7", "7 days"], ["30", "30 days"], ["366", "All"]];
const ROWS = 12;
const HALVES = new Set(["project", "model"]);
const DAY_MS = 86_400_000;
const FOOT = "Days are in UTC. All: the last 366 days.";
const LOSS = "So far prunes cost more than they saved: each rewrites the prompt once, and pays later.";
const COUNTED = [
  "What was paid for the prompts, against the price of sending everything, by the usage of each answer.",
  " Rewrites are what undrift’s prunes made the provider write again. Fetched again is what was removed and read once more.",
];

export async function show(root, {key: days, now, signal}) {
  const chosen = SPANS.some(([one]) => one === days) ? days : "7";
  const link = ([one, text]) => h("a", {href: `#/bill/${one}`, "aria-current": one === chosen ? "page" : null}, text);
  const status = h("p.soft", {role: "status"}, "Adding up…"), place = h("div.bill");
  root.append(heading("Bill"), h("nav.tabs", {"aria-label": "Days"}, SPANS.map(link)), chosen === "366" ? "" : soft("Older sessions are under All."), status, place);
  const slots = new Map();
  const take = async () => {
    const found = await ask("bill", signal, {days: chosen});
    status.remove();
    for (const [name, value, draw] of parts(found)) {
      const slot = slots.get(name) ?? begun(slots, name, place), text = JSON.stringify(value ?? null);
      if (slot.text === text) continue;
      slot.text = text;
      renew(slot.element, value ? draw(value, slot) : null);
    }
  };
  const update = onChange(signal, ({sessions}) => JSON.stringify(sessions.map(one => [one.key, one.last_ms])), take);
  if (now) update(now);
  await take();
  return update;
}

function begun(slots, name, place) {
  const slot = {element: h(HALVES.has(name) ? "div.half" : "div"), text: ""};
  slots.set(name, slot);
  place.append(slot.element);
  return slot;
}

/** The parts of the view: a name, what it shows, and what draws it. */
function parts({by, days, saved, undated, ...whole}) {
  const {prompts, unpriced} = whole;
  const project = row => own(row.name ? projectOf({project: row.name}) : "no project");
  return [
    ["none", !prompts && {days}, () => h("p.card.empty", "No prompt in these days. Choose more days.")],
    ["missing", unpriced > 0 && {unpriced, prompts, models: by.model.filter(row => row.unpriced).map(row => row.name)}, missing],
    ["causes", prompts && whole, found => causesPart("What it cost, and why", found)],
    ["daily", by.day.length > 1 && {rows: by.day, days}, daily],
    ["saved", saved, balance],
    ["project", prompts && by.project, listed("Projects", project)],
    ["model", prompts && by.model, listed("Models", row => own(row.name))],
    ["session", prompts && by.session, listed("Sessions", row => h("a", {href: address(row.name)}, own(row.title || row.name)))],
    ["foot", {undated}, foot],
  ];
}

const foot = ({undated}) => soft(FOOT, undated > 0 && ` ${count(undated, "prompt")} without a recorded time are in no day.`);

function missing({unpriced, prompts, models}) {
  const named = own(` Models without a price: ${models.slice(0, 6).join(", ")}${models.length > 6 ? " and others" : ""}.`);
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
    found.push(known.get(name) ?? {name, prompts: 0, usd: 0, causes: {}});
  }
  return found;
}

const SHORT = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", timeZone: "UTC"});

/** The days as bars; drawn once, so that the bar that was picked stays picked. */
function daily({rows, days}, slot) {
  slot.days = everyDay(rows, days);
  slot.chart ??= drawnDays(slot);
  const values = name => Float64Array.from(slot.days, row => row.causes[name] ?? 0);
  const named = at => SHORT.format(stamp(slot.days[at].name));
  slot.chart.set({series: CAUSES.map(([name]) => ({name, values: values(name)})), over: null, marks: [], limit: 0, named});
  return slot.chart.card;
}

function drawnDays(slot) {
  const said = readout(), dayOf = at => slot.days[at], named = at => SHORT.format(stamp(dayOf(at).name));
  const picked = (row, at) => [
    h("p", h("b", named(at)), ` · ${count(row.prompts, "prompt")} · ${money(row.usd)}`),
    facts(CAUSES.map(([name, text]) => [name, text, row.prompts ? money(row.causes[name]) : "$0.00"])),
  ];
  const bars = chart({
    label: "Day",
    format: usd => (usd % 1 ? money(usd) : `$${number(usd)}`),
    worded: at => `${named(at)}: ${money(dayOf(at).usd)}`,
    onPick: at => said.replaceChildren(...picked(dayOf(at), at)),
    height: 220,
    widest: 90,
  });
  return {set: bars.set, card: h("div.card", h("h2", "Each day, by cause"), legend(CAUSES), bars.element, said)};
}

const HEADS = [["name", "grow"], ["prompts", "figures wide"], ["by cause", "mini wide"], ["price", "figures"]];

const listed = (title, named) => (rows, slot) => {
  const most = Math.max(...rows.map(row => row.usd ?? 0));
  const cells = row => [named(row), number(row.prompts), causes(row, most), money(row.usd)];
  const draw = some => h("div.list", table(title, HEADS, some.map(cells)));
  const from = Math.min(slot.list?.from ?? 0, Math.floor((rows.length - 1) / ROWS) * ROWS);
  slot.list = pages(rows, ROWS, draw, title.slice(0, -1).toLowerCase(), from);
  return section(title, slot.list);
};

function causes(row, most) {
  const made = bar(sizesOf(row.causes), {"aria-hidden": "true"}, "bar.thin");
  made.style.width = `${most ? Math.max(1, (100 * (row.usd ?? 0)) / most) : 0}%`;
  return made;
}

function balance(found) {
  const title = "What undrift saved";
  if (!found.sessions) {
    const command = h("code", "undrift wrap claude");
    return section(title, h("p", "undrift manages no window yet: ", command, " starts Claude Code behind its gateway."));
  }
  const {saved, rewrites, fetched, open, total, is_usd: isUsd} = found, said = isUsd ? money : number;
  const rows = [["saved", saved], ["rewrites", -rewrites], ["fetched again", -fetched], ["prunes that no answer has priced yet", -open], ["balance", total]];
  const heads = [["part", "grow"], [isUsd ? "US dollars" : "tokens at the input price", "figures"]];
  return section(
    title,
    h("p.figure", h(total < 0 ? "b.bad" : "b.good", said(total)), ` in ${count(found.sessions, "session")}, of all time`),
    total < 0 && h("p", LOSS),
    soft(found.text),
    h("details", h("summary", "How it is counted"), h("p", COUNTED), table("The balance", heads, rows.map(([name, value]) => [name, said(value)]))),
  );
}
