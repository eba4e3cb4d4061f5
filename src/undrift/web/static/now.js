// The view of now: the sessions that are alive as cards, the others as rows.
// Law: only what changed is built again, and the focus stays where it was; the clocks run without a request.

import {ago, ask, count, h, heading, isToday, own, pages, soft, table} from "./dom.js";
import {address, clientOf, eachSecond, filled, projectOf, sessionPart, titled, windowBar} from "./parts.js";

const MOST_CARDS = 8;
const ROWS = 20;

export async function show(root, {now, signal}) {
  const cards = h("div.cards"), rest = h("div"), lead = soft("Looking for recorded sessions…");
  const view = {cards, rest, made: new Map(), seen: ""};
  root.append(heading("Sessions"), lead, cards, rest);
  const update = value => {
    const alive = value.sessions.filter(one => one.is_live);
    lead.textContent = worded(value, alive.length);
    drawCards(view, alive.slice(0, MOST_CARDS));
    drawRest(view, [...alive.slice(MOST_CARDS), ...value.sessions.filter(one => !one.is_live)]);
  };
  eachSecond(signal, () => view.made.forEach(one => one.element.tick()));
  update(now ?? (await ask("now", signal)));
  return update;
}

function worded({sessions, gateway}, alive) {
  if (!sessions.length) return "No recorded session yet. Start Claude Code or Codex; this page shows it by itself.";
  const first = alive ? `${count(alive, "session")} active in the last hour.` : "No session was active in the last hour; the newest are below.";
  return first + (gateway ? " undrift’s gateway runs." : "");
}

/** One that did not change stays the very element that it was. */
function drawCards(view, sessions) {
  const held = document.activeElement?.closest("[data-key]")?.dataset.key;
  const made = new Map();
  for (const one of sessions) {
    const text = JSON.stringify(one), before = view.made.get(one.key);
    made.set(one.key, before?.text === text ? before : {text, element: card(one)});
  }
  const wanted = [...made.values()].map(one => one.element), {children} = view.cards;
  view.made = made;
  if (wanted.length === children.length && wanted.every((one, n) => one === children[n])) return;
  view.cards.replaceChildren(...wanted);
  made.get(held)?.element.querySelector("a").focus({preventScroll: true});
}

const card = one => sessionPart("article.card", {"data-key": one.key}, one, h("h2", h("a", {href: address(one.key)}, own(titled(one)))));

/** The sessions without a card, by age; built again only if one changed. */
function drawRest(view, sessions) {
  const seen = JSON.stringify(sessions.map(one => [one.key, one.last_ms, one.turns, one.is_live]));
  if (seen === view.seen) return;
  view.seen = seen;
  const groups = {"Also active": [], "Earlier today": [], Older: []};
  for (const one of sessions) groups[one.is_live ? "Also active" : isToday(one.last_ms) ? "Earlier today" : "Older"].push(one);
  const section = ([name, found]) => h("section", h("h2.group", name), pages(found, ROWS, rows => listed(name, rows), "session"));
  view.rest.replaceChildren(...Object.entries(groups).filter(([, found]) => found.length).map(section));
}

const HEADS = [["session", "grow"], ["client", "wide"], ["window", "mini wide"], ["tokens", "figures"], ["last", "figures wide"]];

function listed(name, rows) {
  const named = one => [h("a", {href: address(one.key)}, own(titled(one))), h("span.soft", own(projectOf(one)))];
  const cells = one => [named(one), clientOf(one), windowBar(one.window, "bar.thin"), filled(one.window), ago(one.last_ms)];
  return h("div.card.list", table(name, HEADS, rows.map(cells)));
}
