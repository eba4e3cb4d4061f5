// One line of the memory: what is known of it, what it superseded, and what a person can change.
// Law: a change is an action on the server. The words of a box are those on disk, masked.

import {ask, button, buttonOf, count, failure, h, moment, number, own, soft} from "./dom.js";
import {address} from "./parts.js";

const EARLIER = 2;
const SCOPES = {project: "", session: "one session of ", agent: "one agent of "};
const HIDDEN = {forget: "forgotten", prune_memories: "pruned as stale"};
const SINCE = {superseded: "superseded since", hidden: "not held any more"};

/** Who said a memory, by the trust in it. */
export const SAID_BY = {user: "said by you", assistant: "by the assistant", tool: "read by a tool", task: "by a task", spec: "from a specification"};

export const keyOf = row => `${row.place}/${row.id}`;

export const short = row => (row.text.length > 80 ? `${row.text.slice(0, 79)}…` : row.text);

export const named = (row, ...rest) => buttonOf(short(row), ...rest);

export const whole = row => own(row.is_cut ? `${row.text}…` : row.text);

/** What is known of a memory. */
export function facts(row) {
  const where = row.scope === "user" ? "every project" : `${SCOPES[row.scope]}${row.project}`;
  const said = row.speaker ? `said by ${row.speaker}${row.trust === "user" ? "" : `, ${SAID_BY[row.trust]}`}` : SAID_BY[row.trust];
  const lead = [row.type.replaceAll("_", " "), said, where, row.pinned && "pinned"];
  const until = row.until_ms && row.state === "holds" && ` until ${moment(row.until_ms)}`;
  const link = h("a", {href: `#/memory/${encodeURIComponent(row.id)}`, "aria-label": `link to this line: ${short(row)}`}, "link");
  const {times, sources} = row.again;
  const again = times > 0 && own(` · said again ${count(times, "time")}${sources.length ? ` from ${sources.join(", ")}` : ""}`);
  return h("p.soft", own(lead.filter(Boolean).join(" · ")),  ` · since ${moment(row.since_ms)}`, until, origin(row.source), again, " · ", link);
}

function origin({text, line: at, is_learned: isLearned, session, key, title}) {
  const where = at === null ? "" : `, line ${number(at)}`;
  const link = key ? h("a", {href: address(key)}, own(title)) : session && own(`session ${session}`);
  if (isLearned) return [" · learned from ", link, where];
  return [text && [" · from ", own(text)], link && [" · remembered in ", link]];
}

export function line(view, row) {
  const made = h(row.id === view.wanted ? "li.named" : "li");
  const draw = () => made.replaceChildren(...[row.state === "holds" ? held(view, row, made, draw) : gone(view, row)].flat().filter(Boolean));
  draw();
  return made;
}

function held(view, row, place, draw) {
  const past = view.isPast && row.now !== "holds" && h("span.tag.then", SINCE[row.now]);
  const at = view.disputed.get(keyOf(row)), disputed = at !== undefined && h("p", named(row, "in dispute", () => view.toPair(at), ".link"));
  const acts = !view.isPast && h("p.acts", named(row, "Edit", () => edit(view, row, place, draw)), named(row, "Forget", () => forget(view, row, place)));
  return h("div.line", h("div.what", h("p.said", {dir: "auto"}, whole(row), past), disputed, facts(row), earlier(view, row)), acts);
}

/** What a memory superseded, and what that superseded, the newest first. */
function earlier(view, row) {
  const found = [], seen = new Set();
  const add = one => {
    for (const lost of view.lost.get(keyOf(one)) ?? []) {
      if (seen.has(lost.id)) continue;
      seen.add(lost.id);
      found.push(lost);
      add(lost);
    }
  };
  add(row);
  if (!found.length) return null;
  found.sort((a, b) => b.at_ms - a.at_ms);
  const entry = one => h("li", h("del", {dir: "auto"}, whole(one)), h("span.soft", ` superseded ${moment(one.at_ms)}: ${one.why}`), again(view, one));
  const more = found.length > EARLIER && h("li.soft", `and ${number(found.length - EARLIER)} before: see Superseded`);
  return h("ul.was", found.slice(0, EARLIER).map(entry), more);
}

function again(view, row) {
  if (view.isPast) return null;
  const said = done => ["It holds again: “", own(short(row)), done.conflicts ? "”. It is in conflict now: settle that above." : "”."];
  const given = {place: row.place, id: row.id};
  return [" ", named(row, row.is_edit ? "Undo the edit" : "This still holds", () => view.change("memory-again", given, said), ".link")];
}

function gone(view, row) {
  const given = {place: row.place, id: row.id};
  if (row.state === "hidden") {
    const back = named(row, "Bring back", () => view.change("memory-restore", given, () => ["It is back: “", own(short(row)), "”."]));
    const when = soft(`${HIDDEN[row.why] ?? row.why} ${moment(row.at_ms)}`);
    return h("div.line", h("div.what", h("p.said", {dir: "auto"}, whole(row)), when, facts(row)), h("p.acts", back));
  }
  const by = view.byKey.get(`${row.place}/${row.by}`), isThere = by && by.state !== "hidden";
  const what = isThere ? ["the newer one: “", own(short(by)), "”"] : h("b.bad", "what superseded it is not held any more");
  return [h("p.said", h("del", {dir: "auto"}, whole(row)), again(view, row)), soft(`superseded ${moment(row.at_ms)}: ${row.why} · `, what), facts(row)];
}

async function forget(view, row, place) {
  const given = {place: row.place, id: row.id};
  const said = done => ["Forgot “", own(short(row)), "”: no agent sees it any more.", done.stays_superseded ? ` What it superseded stays so: see Superseded.` : ""];
  const done = await view.change("memory-forget", given, said, {undo: ["Undo", "memory-restore", given], keepsList: true});
  if (done) place.replaceChildren(soft("Forgotten: ", own(short(row))));
}

/** Put a box with the words in the place of a line. */
async function edit(view, row, place, draw) {
  const given = {place: row.place, id: row.id};
  view.notice.replaceChildren();
  const box = h("textarea", {"aria-label": "The words of this line", rows: "3", dir: "auto"});
  const ends = () => {
    draw();
    place.querySelector(".acts button")?.focus();
  };
  const save = async () => {
    const done = await view.change("memory-edit", {...given, text: box.value}, one => (one.is_changed ? "Saved. The old words stay, superseded." : "The words are the same; nothing was changed."), {undo: ["Undo", "memory-again", given], keepsList: true});
    if (done) place.replaceWith(line(view, view.byKey.get(`${row.place}/${done.id}`) ?? row));
  };
  box.addEventListener("keydown", event => event.key === "Escape" && ends());
  try {
    box.value = (await ask("memory-text", view.signal, given)).text;
  } catch (error) {
    return void view.notice.replaceChildren(failure(error));
  }
  const masked = row.is_masked && soft("A secret in it is masked. If you save, the mask stays.");
  place.replaceChildren(box, masked || "", h("p.acts", button("Save", save), button("Cancel", ends)));
  box.focus();
}
