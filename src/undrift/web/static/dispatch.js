// The graph of a dispatched run: a column a task, implementer above reviewer, and a line where facts flowed.
// Law: the drawing says nothing that the list beside it does not say; what is picked is told in text.

import {ago, button, count, h, number, own, pages, section, soft, table} from "./dom.js";
import {readout} from "./parts.js";

const COLUMN = 196, WIDE = 146, HIGH = 52, LEFT = 14;
const TOP = 104, GAP = 92, BELOW = 70;
const COLUMNS = 8, ROWS = 20, MOST_FACTS = 40;
const PLACES = [0.5, 0.36, 0.64];
const LOW = TOP + HIGH + GAP;
const STATES = {done: "done", halted: "halted", open: "open"};
const HINT = "Choose an agent or a number. A number says how many facts of one agent stood in the prompts of another.";

/** The runs that dispatchers made, and the graph of one. */
export function runs({runs: rows, run}) {
  const title = "Runs of a plan";
  if (!run) {
    const command = h("code", "undrift agent dispatch PLAN");
    return section(title, soft("No plan was run yet: ", command, " runs one with agents, task after task."));
  }
  const href = one => `#/tasks/${encodeURIComponent(one.run)}/${encodeURIComponent(one.place)}`;
  const isShown = one => one.run === run.run && one.place === run.place;
  const link = one => h("a", {href: href(one), "aria-current": isShown(one) ? "true" : null}, own(one.name));
  const cells = one => [[link(one), h("span", own(one.project))], `${number(one.done)} of ${number(one.tasks)}`, ago(one.last_ms)];
  const heads = [["run", "grow"], ["tasks done", "figures"], ["last", "figures wide"]];
  const list = some => h("div.list", table(title, heads, some.map(cells)));
  return section(title, rows.length > 1 && pages(rows, 8, list, "run"), drawn(run));
}

function drawn(run) {
  const said = readout(), pick = parts => said.replaceChildren(...[parts].flat(Infinity).filter(Boolean));
  const flowed = run.edges.reduce((sum, edge) => sum + edge.facts.length, 0);
  const cut = run.steps > run.steps_read && ` The prompts of the newest ${number(run.steps_read)} of ${count(run.steps, "answer")} are looked into.`;
  const sum = `${number(run.done)} of ${count(run.tasks, "task")} done, ${count(run.learned, "fact")} known now. Facts stood ${number(flowed)} times in a later prompt.`;
  pick(soft(HINT));
  return [
    h("h3", own(run.name)),
    soft(sum, cut),
    run.context && h("p", h("span.soft", "For every task: "), own(run.context)),
    run.tasks > COLUMNS && soft(`The graph shows ${COLUMNS} tasks at a time; the list below has all.`),
    pages(run.list, COLUMNS, tasks => graph(run, tasks, pick), "task"),
    said,
    h("div.columns", tasksOf(run), linesOf(run, pick)),
  ];
}

const isBelow = edge => edge.from.endsWith("/reviewer") && edge.to.endsWith("/reviewer");
const isIn = (edge, places) => places.has(edge.from) && places.has(edge.to);

function graph(run, tasks, pick) {
  const agents = new Map(run.agents.map(one => [one.id, one])), places = new Map();
  tasks.forEach((task, n) => {
    for (const [role, y] of [["implementer", TOP], ["reviewer", LOW]]) places.set(`${task.id}/${role}`, {x: LEFT + n * COLUMN, y, role, task, ins: 0, outs: 0});
  });
  const edges = run.edges.filter(edge => isIn(edge, places));
  const width = LEFT + tasks.length * COLUMN, height = LOW + HIGH + (edges.some(isBelow) ? BELOW : 8);
  const label = `${count(tasks.length, "task")}, ${count(edges.length, "line")} of facts; the lists below say the same`;
  const svg = h("svg", {role: "group", "aria-label": label, width, height});
  const picked = (element, parts) => {
    svg.querySelector(".picked")?.classList.remove("picked");
    element.classList.add("picked");
    lines.forEach((one, n) => one.classList.toggle("far", one !== element && ![edges[n].from, edges[n].to].includes(element.dataset.agent)));
    pick(parts);
  };
  const lines = edges.map(edge => line(edge, places, () => lineSaid(run, edge), picked));
  const boxes = [...places].map(([id, place]) => box(agents.get(id), place, () => agentSaid(run, agents.get(id), place.task), picked));
  svg.append(...tasks.flatMap(head), ...tasks.map((task, n) => handed(agents, task, n)), ...lines, ...boxes);
  return h("div.graph", {tabindex: "0", role: "region", "aria-label": "Graph of the run"}, svg);
}

/** A part that is chosen by pointer or keys. */
function chosen(kind, agent, label, parts, picked, ...children) {
  const choose = () => picked(made, parts());
  const onkeydown = event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  const made = h(`g.${kind}`, {tabindex: "0", role: "button", "aria-label": agent ? null : label, "aria-description": agent ? label : null, "data-agent": agent, onclick: choose, onkeydown}, children);
  return made;
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const head = (task, n) => [
  h("text.strong", {x: LEFT + n * COLUMN, y: 18}, short(task.id, 20)),
  h(`text.is-${task.state}`, {x: LEFT + n * COLUMN, y: 34}, STATES[task.state] ?? task.state),
];

/** The work itself goes to the reviewer, and back with its requests. */
function handed(agents, task, n) {
  const x = LEFT + n * COLUMN + 14, from = TOP + HIGH, to = LOW;
  const done = agents.get(`${task.id}/implementer`).answers, seen = agents.get(`${task.id}/reviewer`).answers;
  const down = seen ? `M${x} ${from}V${to}m-4 -7l4 7l4 -7` : "", up = seen && done > 1 ? `M${x + 12} ${to}V${from}m-4 7l4 -7l4 7` : "";
  return h("path.handed", {d: down + up});
}

function box(agent, {x, y, role}, parts, picked) {
  const asked = agent.answers ? count(agent.answers, "answer") + (agent.faults ? `, ${number(agent.faults)} without a result` : "") : "not asked yet";
  const kept = agent.facts ? `${count(agent.facts, "fact")} learned` : "no fact";
  return chosen(
    `box${agent.answers ? "" : ".idle"}`,
    agent.id,
    `${role} of ${agent.task}: ${asked}, ${kept}`,
    parts,
    picked,
    h("path", {d: `M${x + 8} ${y}h${WIDE - 16}q8 0 8 8v${HIGH - 16}q0 8 -8 8h${16 - WIDE}q-8 0 -8 -8v${16 - HIGH}q0 -8 8 -8z`}),
    h("text.strong", {x: x + 12, y: y + 21}, role),
    h("text", {x: x + 12, y: y + 39}, short(agent.faults ? `${count(agent.answers, "answer")}, ${number(agent.faults)} failed` : asked, 20)),
  );
}

/** A value on a cubic curve. */
const between = (t, a, b, c, d) => (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t * t * (1 - t) * c + t ** 3 * d;

/** A line from one agent to a later one: above, below, or through the gap between the rows. */
function line(edge, places, parts, picked) {
  const from = places.get(edge.from), to = places.get(edge.to), away = Math.abs(to.x - from.x) / COLUMN;
  const x1 = from.x + WIDE - 14 - 9 * (from.outs++ % 5), x2 = to.x + 30 + 9 * (to.ins++ % 6);
  const high = Math.min(78, 26 + 13 * away);
  const [y1, y2, bend1, bend2] =
    from.role === to.role
      ? from.role === "implementer"
        ? [TOP, TOP, TOP - high, TOP - high]
        : [LOW + HIGH, LOW + HIGH, LOW + HIGH + high, LOW + HIGH + high]
      : from.role === "implementer"
        ? [TOP + HIGH, LOW, LOW - 12, TOP + HIGH + 12]
        : [LOW, TOP + HIGH, TOP + HIGH + 12, LOW - 12];
  const d = `M${x1} ${y1}C${x1} ${bend1} ${x2} ${bend2} ${x2} ${y2}`, tip = y2 === TOP || y2 === LOW ? -1 : 1;
  const at = PLACES[(from.outs + to.ins) % PLACES.length], mid = [between(at, x1, x1, x2, x2), between(at, y1, bend1, bend2, y2)];
  return chosen(
    "line",
    null,
    `${edge.from.replace("/", ", ")} to ${edge.to.replace("/", ", ")}: ${count(edge.facts.length, "fact")}`,
    parts,
    picked,
    h("path.reach", {d}),
    h("path.drawn", {d: `${d}m-4 ${7 * tip}L${x2} ${y2}l4 ${7 * tip}`}),
    h("circle", {cx: mid[0], cy: mid[1], r: 10}),
    h("text.mid", {x: mid[0], y: mid[1] + 4}, number(edge.facts.length)),
  );
}

const named = id => {
  const at = id.lastIndexOf("/");
  return own(`${id.slice(0, at)}, ${id.slice(at + 1)}`);
};

const sentence = fact => h("li", own(`${fact.subject} ${fact.relation.replaceAll("_", " ")} ${fact.object}`), !fact.is_valid && h("span.soft", " (no longer true)"));

function listOf(run, numbers) {
  const rest = numbers.length - MOST_FACTS;
  return [h("ul.told", numbers.slice(0, MOST_FACTS).map(n => sentence(run.facts[n]))), rest > 0 && soft(`and ${number(rest)} more`)];
}

const lineSaid = (run, edge) => [
  h("p", h("b", count(edge.facts.length, "fact")), " of ", named(edge.from), " in the prompts of ", named(edge.to)),
  listOf(run, edge.facts),
];

function agentSaid(run, agent, task) {
  const given = run.edges.filter(edge => edge.to === agent.id), passed = run.edges.filter(edge => edge.from === agent.id);
  const numbers = some => [...new Set(some.flatMap(edge => edge.facts))];
  const isReviewer = agent.role === "reviewer";
  const result = isReviewer ? [task.assessment.replaceAll("_", " "), ...task.asked].filter(Boolean).join("; ") : task.summary;
  return [
    h("p", h("b", named(agent.id)), ` · ${count(agent.answers, "answer")}, ${count(agent.facts, "fact")} learned`),
    h("p", h("span.soft", "Task: "), own(task.prompt)),
    result && h("p", h("span.soft", isReviewer ? "Said: " : "Result: "), own(result)),
    task.halt_reason && h("p.bad", own(`Halted: ${task.halt_reason}`)),
    given.length ? [soft(`Given to it, ${count(numbers(given).length, "fact")}:`), listOf(run, numbers(given))] : soft("No fact of others stood in its prompts."),
    passed.length > 0 && [soft(`Its facts went to ${count(passed.length, "agent")}:`), listOf(run, numbers(passed))],
  ];
}

const TASK_HEADS = [["task", "grow"], ["state", "wide"], ["tries", "figures"]];

function tasksOf({list}) {
  const tries = task => `${number(task.attempts)} + ${number(task.reviews)}`;
  const state = task => h(`b.${task.state === "halted" ? "bad" : task.state === "done" ? "good" : "soft"}`, STATES[task.state] ?? task.state);
  const title = task => [h("b", own(task.id)), h("span", own(task.halt_reason || task.summary || task.prompt)), h("span.narrow", task.state)];
  const drawn = some => h("div.list", table("Tasks: attempts and reviews", TASK_HEADS, some.map(task => [title(task), state(task), tries(task)])));
  return h("div", h("h3", "Tasks, with attempts + reviews"), pages(list, ROWS, drawn, "task"));
}

const LINE_HEADS = [["facts of", ""], ["in the prompts of", ""], ["facts", "figures"]];

function linesOf(run, pick) {
  if (!run.edges.length) return h("div", h("h3", "Facts that flowed"), soft("No fact of one task stood in the prompt of another."));
  const open = edge => button(count(edge.facts.length, "fact"), () => pick(lineSaid(run, edge)), ".link");
  const drawn = some => h("div", table("Facts that flowed", LINE_HEADS, some.map(edge => [named(edge.from), named(edge.to), open(edge)])));
  return h("div", h("h3", "Facts that flowed"), pages(run.edges, ROWS, drawn, "line"));
}
