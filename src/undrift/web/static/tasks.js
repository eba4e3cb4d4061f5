// The views of tasks and sub-agents: of one session, and of the newest sessions of all projects.
// Law: all is shown as it was recorded; a sub-agent stands under the one that started it.

import {ago, ask, button, code, count, h, heading, moment, money, number, own, pages, section, soft, span, table, tokens} from "./dom.js";
import {runs} from "./dispatch.js";
import {address, eachSecond, facts, liveTop, onTurn, projectOf, tile, titled} from "./parts.js";

const TASKS = 20, AGENTS = 12, ROWS = 20;
const LONG = 260, EACH_S = 10;
const WORDS = {pending: "not started", in_progress: "in progress", completed: "completed", delegated: "delegated", cancelled: "cancelled"};
const NO_TASKS = "No task of this session is known. An agent reports tasks with undrift’s task tool.";
const NO_AGENTS = "This session has started no sub-agent that is recorded.";

/** Those of one session. What is being read is not redrawn: a button says that there is more. */
export async function ofSession(root, {key, signal}) {
  const news = h("div", {role: "status"}), body = h("div");
  let head = null, seen = "", ticks = 0;
  const draw = found => {
    news.replaceChildren();
    body.replaceChildren(tasksOf(found), agentsOf(found));
  };
  const take = async () => {
    const {session, ...found} = await ask("tasks", signal, {key});
    const isRead = body.contains(document.activeElement) || body.querySelector("details[open]");
    if (!head) root.append((head = liveTop(session, "tasks", signal)), news, body);
    if (seen === (seen = JSON.stringify(found))) return;
    if (isRead) news.replaceChildren(button("Show what is new", () => draw(found)));
    else draw(found);
  };
  eachSecond(signal, () => ++ticks % EACH_S || take().catch(() => {})); // a session waits while its sub-agent works
  await take();
  const update = onTurn(key, signal, take);
  return value => [head, {update}].forEach(part => part.update(value));
}

/** Those of all projects, and the runs of dispatchers. */
export async function show(root, {key: run, tab: place, signal}) {
  const body = h("div", h("p.soft", {role: "status"}, "Looking into the records of all projects…"));
  root.append(heading("Tasks and agents"), body);
  const [found, sent] = await Promise.all([ask("tasks", signal), ask("dispatch", signal, run ? {run, place} : {})]);
  const parts = [runs(sent), sessionsOf(found.sessions), parentsOf(found.agents)];
  body.replaceChildren(...(run ? parts : [parts[1], parts[0], parts[2]]));
}

function tasksOf({tasks, count: whole}) {
  if (!whole) return section("Tasks", soft(NO_TASKS));
  const open = tasks.filter(task => task.status === "pending" || task.status === "in_progress").length;
  const freed = tasks.reduce((sum, task) => sum + task.tokens_saved, 0);
  const more = freed > 0 ? `, ${tokens(freed)} tokens freed in each window` : "";
  const drawn = rows => h("ul.works", rows.map(row => h("li", taskOf(row))));
  return section("Tasks", soft(`${count(whole, "task")}, ${number(open)} open${more}.`), pages([...tasks].reverse(), TASKS, drawn, "task"));
}

const status = task => h(`span.state.is-${task.status}`, WORDS[task.status] ?? task.status);

const verdictOf = ({verdict}) =>
  verdict &&
  h(
    `b.${verdict.is_good ? "good" : verdict.is_checked ? "bad" : "soft"}`,
    verdict.words + (verdict.score === null ? "" : `, score ${verdict.score.toFixed(2)}`),
  );

function taskOf(task) {
  const times = [
    task.started_ms ? `started ${moment(task.started_ms)}` : task.known_ms && `reported ${moment(task.known_ms)}`,
    task.ended_ms && `ended ${moment(task.ended_ms)}`,
    task.started_ms && task.ended_ms && `took ${span((task.ended_ms - task.started_ms) / 1_000)}`,
    task.tokens_saved > 0 && `freed ${tokens(task.tokens_saved)} tokens in ${count(task.blocks, "block")}`,
    task.agent !== "main" && `by ${task.agent}`,
    task.delegated_to && `to ${task.delegated_to}`,
  ];
  const missing = task.verdict?.missing ?? [];
  return [
    h("p.lead", status(task), h("b", own(task.title || task.id)), task.title && code(task.id), verdictOf(task)),
    soft(own(times.filter(Boolean).join(" · "))),
    task.criteria.length > 0 &&
      h("ul.criteria", task.criteria.map(text => h("li", own(text), missing.includes(text) && h("b.bad", " missing")))),
    task.summary && folded("Summary", task.summary),
  ];
}

const words = text => h("p.words", {dir: "auto"}, text);

/** A text of several lines: short ones at once, a longer one behind its name. */
const folded = (name, text) =>
  text.length > LONG
    ? h("details", h("summary", name), words(text))
    : words(text);

function agentsOf({agents, reports}) {
  if (!agents.length && !reports.length) return section("Sub-agents", soft(NO_AGENTS));
  const under = new Map(), known = new Set(agents.map(one => one.id));
  for (const one of agents) {
    const parent = known.has(one.parent) && one.parent !== one.id ? one.parent : "";
    under.set(parent, [...(under.get(parent) ?? []), one]);
  }
  const roots = under.get("") ?? [];
  const lead = soft("Each has a window of its own; only its last words came back.");
  const drawn = rows => h("ul.tree", rows.map(one => branch(one, under, 0)));
  return section(
    "Sub-agents",
    lead,
    agents.length > 0 && h("ul.tiles", sums(agents)),
    pages(roots, AGENTS, drawn, "sub-agent"),
    reports.length > 0 && [h("h3", "Without a recording here"), pages(reports, AGENTS, rows => h("ul.tree", rows.map(reported)), "report")],
  );
}

function sums(agents) {
  const sum = name => agents.reduce((all, one) => all + one[name], 0);
  const priced = agents.filter(one => one.usd !== null), missing = sum("unpriced");
  const price = priced.length ? money(priced.reduce((all, one) => all + one.usd, 0)) : "no price";
  return [
    tile(number(agents.length), agents.length === 1 ? "sub-agent" : "sub-agents"),
    tile(tokens(sum("tokens")), `tokens in ${count(sum("prompts"), "prompt")}`),
    tile(price, missing ? `for prompts; ${number(missing)} without a price` : "for their prompts"),
    tile(tokens(sum("said_tokens")), "tokens came back"),
  ];
}

const DEEPEST = 6;

function branch(one, under, depth) {
  const below = depth < DEEPEST ? (under.get(one.id) ?? []) : [];
  return h("li", agentOf(one), below.length > 0 && h("ul.tree", below.map(child => branch(child, under, depth + 1))));
}

function agentOf(one) {
  const figures = [
    ["", "prompts", number(one.prompts)],
    ["", "tokens", tokens(one.tokens)],
    ["", "largest window", tokens(one.largest_tokens)],
    ["", "calls", number(one.calls)],
    ["", "price", money(one.usd)],
    ["", "came back", `${tokens(one.said_tokens)} tokens`],
  ];
  const when = [one.model || "model unknown", one.first_ms ? moment(one.first_ms) : "", `last ${ago(one.last_ms)}`];
  return [
    h("p.lead", h("span.state", own(one.kind || "sub-agent")), h("b", own(one.name || one.asked || one.id))),
    soft(own(when.filter(Boolean).join(" · "))),
    one.is_fork && h("p.note", "It begins with its parent’s history, so its figures may count prompts of its parent too."),
    one.name && one.asked && h("p", h("span.soft", "Asked: "), own(one.asked)),
    facts(figures),
    one.said ? folded("What came back", one.said) : soft("Nothing came back yet."),
    learned(one.facts),
  ];
}

const reported = one => h("li", h("p.lead", h("b", own(one.task)), h("span.soft", moment(one.at_ms))), one.said && folded("What it reported", one.said), learned(one.facts));

const HEADS = [["about", ""], ["relation", "wide"], ["fact", ""]];

function learned(rows) {
  if (!rows.length) return null;
  const cells = one => [own(one.subject), one.relation.replaceAll("_", " "), [own(one.object), h("span.narrow", one.relation.replaceAll("_", " "))]];
  const place = h("div"), drawn = some => h("div.list", table("Facts", HEADS, some.map(cells)));
  const ontoggle = () => place.firstChild || place.append(pages(rows, ROWS, drawn, "fact"));
  return h("details", {ontoggle}, h("summary", `${count(rows.length, "fact")} kept for later sub-agents`), place);
}

function sessionsOf(rows) {
  const title = "Tasks of the newest sessions";
  if (!rows.length) return section(title, soft("No session has tasks yet. An agent reports them with undrift’s task tool."));
  const named = row => (row.key ? h("a", {href: address(row.key, "tasks")}, own(titled(row))) : own(row.name));
  const line = task => h("li", status(task), own(task.title || task.id), verdictOf(task));
  const entry = row => [
    h("h3", named(row)),
    soft(own(`${projectOf(row)} · ${count(row.count, "task")}, ${number(row.open)} open · ${ago(row.last_ms)}`)),
    h("ul.brief", [...row.tasks].reverse().map(line)),
  ];
  return section(title, pages(rows, AGENTS, some => h("div", some.map(entry)), "session"));
}

const PARENTS = [["session", "grow"], ["sub-agents", "figures"], ["last", "figures wide"]];

function parentsOf(rows) {
  if (!rows.length) return section("Sessions with sub-agents", soft("No recorded session has started a sub-agent."));
  const named = row => [h("a", {href: address(row.key, "tasks")}, own(titled(row))), h("span", own(projectOf(row)))];
  const cells = row => [named(row), number(row.count), ago(row.last_ms)];
  const drawn = some => h("div.list", table("Sessions with sub-agents", PARENTS, some.map(cells)));
  return section("Sessions with sub-agents", pages(rows, ROWS, drawn, "session"));
}
