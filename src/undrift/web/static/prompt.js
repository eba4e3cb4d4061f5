// The view of one prompt: its blocks in their order, what had been removed, and what undrift put in.
// Law: it says how sure it is that this was sent; a block that is found nowhere is counted.

import {aTurn, act, ask, button, buttonOf, count, failure, h, heading, isTaken, moment, number, own, soft, tokens} from "./dom.js";
import {stepping} from "./keys.js";
import {address, leftAddress, titled} from "./parts.js";

const LONG = 400, LINE = 150;
const KINDS = new Set(["thinking", "image", "reminder"]);

export async function show(root, {key, words, now, signal}) {
  const {sessions} = now ?? (await ask("now", signal)), session = sessions.find(one => one.key === key);
  const head = h("header"), place = h("div"), view = new PromptView({key, session, signal, head, place});
  root.append(head, place);
  await view.load(Number(words) || 1);
  addEventListener("keydown", event => view.pressed(event), {signal});
  stepping(place, ".blocks > li", signal);
}

class PromptView {
  constructor(parts) {
    Object.assign(this, parts, {found: null, at: -1});
  }

  /** Show a turn from a block on; without one from the first that was in the prompt. */
  async load(turn, from) {
    const asked = at => ask("prompt", this.signal, {key: this.key, turn, from: at});
    let found = await asked(from ?? 0);
    const first = found.left_at.findIndex((at, n) => at !== n), sent = first < 0 ? found.left_at.length : first;
    if (from === undefined && sent >= found.page && sent < found.count) found = await asked(sent);
    this.found = found;
    this.head.replaceChildren(...top(this));
    this.place.replaceChildren(...drawn(this));
  }

  /** Go to another turn; the address goes along. */
  async turn(step) {
    const to = this.found.turn + step, held = document.activeElement.id;
    if (to < 1 || to > this.found.turns || !(await this.tried(this.load(to)))) return;
    this.at = -1;
    history.pushState(null, "", address(this.key, `turn/${to}`));
    const title = this.head.querySelector("h1"), again = held && document.getElementById(held);
    document.title = `${title.textContent} · undrift`;
    (again && !again.disabled ? again : title).focus({preventScroll: true});
  }

  /** Show the page of a block, and bring the focus there. */
  async go(at, where = "start") {
    const {turn, from, rows} = this.found;
    if ((at < from || at >= from + rows.length) && !(await this.tried(this.load(turn, at)))) return;
    const block = document.getElementById(`block-${at}`);
    block.scrollIntoView({block: where});
    block.focus({preventScroll: true});
  }

  /** Jump to the next block that was removed; behind the last, to the first. The focus stays on the button. */
  async next() {
    const places = this.found.left_at;
    this.at = places.find(at => at > this.at) ?? places[0];
    await this.go(this.at, "center");
    this.place.querySelectorAll(".blocks > .at").forEach(one => one.classList.remove("at"));
    document.getElementById(`block-${this.at}`)?.classList.add("at");
    document.getElementById("next-removed").focus({preventScroll: true});
    this.place.querySelector(".jump [role]").textContent = `${number(places.indexOf(this.at) + 1)} of ${number(places.length)}`;
  }

  async tried(done) {
    try {
      await done;
      return true;
    } catch (error) {
      this.place.querySelector(".told")?.remove();
      if (!this.signal.aborted) this.place.prepend(h("div.told", failure(error)));
      return false;
    }
  }

  pressed(event) {
    const step = {"[": -1, "]": 1}[event.key];
    if (!step || isTaken(event)) return;
    event.preventDefault();
    this.turn(step);
  }
}

function top(view) {
  const {turn, turns, at_ms: at, tokens: size} = view.found, {session, key} = view;
  const step = (id, text, by, keys, isOff) => h("button", {id, type: "button", disabled: isOff, "aria-keyshortcuts": keys, onclick: () => view.turn(by)}, text);
  return [
    h("p.eyebrow", h("a", {href: "#/"}, "Sessions"), " / ", h("a", {href: address(key)}, own(session ? titled(session) : key))),
    heading(`Prompt of turn ${number(turn)}`),
    soft(`of ${number(turns)} · ${tokens(size)} tokens · ${moment(at)}`),
    h("p.pager", step("before", "Turn before", -1, "[", turn <= 1), step("after", "Turn after", 1, "]", turn >= turns), h("span.keyed", "or the keys [ and ]")),
  ];
}

/** How sure it is that the blocks are what was sent. */
function verdict(found) {
  const {counts, is_checked: isChecked, is_whole: isWhole, unseen_characters: unseen, unread_messages: unread, added_characters: extra} = found;
  if (!isChecked) return h("p.note", "As the client recorded it; undrift did not send it, or kept no hash of this turn.");
  const missing = [
    counts.unseen > 0 && `${count(counts.unseen, "block")} (${count(unseen, "character")}) that the client adds when it sends and does not record`,
    unread > 0 && `${count(unread, "message")} that could not be told apart`,
  ].filter(Boolean);
  const added = extra > 0 && ` The client adds ${count(extra, "character")} of reminders when it sends.`;
  const lead = isWhole ? h("b.good", "Exactly as it was sent: ") : [h("b", "As it was sent, "), `all but ${missing.join(" and ")}: `];
  return h(`p.note${isWhole ? ".is-sure" : ""}`, lead, `${count(counts.sent + counts.ours, "block")} checked.`, added, " Hash ", h("code", found.sum.slice(0, 12)));
}

function drawn(view) {
  const {found} = view, {counts, rows, from, page, count: whole, beside_tokens: beside} = found;
  const sums = [counts.left > 0 && `${count(counts.left, "block")} ${counts.left === 1 ? "was" : "were"} removed before it, in grey`, counts.ours > 0 && `${count(counts.ours, "block")} put in by undrift, in green`];
  const jump = counts.left > 0 && [h("button", {id: "next-removed", type: "button", onclick: () => view.next()}, "Next removed"), h("a", {href: address(view.key, "left")}, "All removed"), h("span", {role: "status"})];
  const end = from + rows.length, to = Math.max(0, from - page);
  const back = from > 0 && button(`Show the ${from - to} before`, () => view.go(to)), on = end < whole && button(`Show ${Math.min(page, whole - end)} more`, () => view.go(end));
  const pager = () => (back || on) && h("p.pager", back, on, h("span", {role: "status"}, `blocks ${number(from + 1)} to ${number(end)} of ${number(whole)}`));
  return [
    verdict(found),
    h("p.pager.jump", jump, h("span", sums.filter(Boolean).join("; "))),
    h(
      "section.card",
      {"aria-label": "Blocks of the prompt"},
      beside > 0 && soft("System prompt and tools: ", h("b", `${tokens(beside)} tokens`)),
      h("ol.blocks", rows.map(row => blockOf(view, row))),
      pager(),
    ),
  ];
}

function blockOf(view, row) {
  const {status, what, kind} = row, word = status === "ours" ? "put in by undrift" : KINDS.has(kind) && kind;
  const lead = [word && h("span.state", word), what && h("b", own(what)), row.tokens > 0 && h("span.soft", count(row.tokens, "token"))];
  return h(`li.${status}`, {id: `block-${row.number}`, tabindex: "-1"}, h("p.lead", lead), status === "left" && gone(view, row), textOf(row));
}

function textOf({status, text, characters, added_characters: extra}) {
  if (status === "added" || status === "unseen") return soft(`${count(status === "added" ? extra : characters, "character")} that the client adds when it sends, and does not record.`);
  if (!text) return null;
  const words = [h("p.words", {dir: "auto"}, text), characters > text.length && soft(`The first ${number(text.length)} of ${count(characters, "character")}.`)];
  return text.length > LONG ? h("details", h("summary", own(`${text.trimStart().split("\n", 1)[0].slice(0, LINE)} …`)), words) : words;
}

/** Why a block was not in the prompt any more, and the way back. */
function gone(view, row) {
  const price = aTurn(row.usd_a_turn), said = h("span", {role: "status"});
  const given = {key: view.key, session_id: view.found.session_id, by: view.found.is_checked ? "undrift" : "client", ref: row.ref};
  const onclick = async () => {
    try {
      await act("bring-back", given, view.signal);
      said.replaceChildren("It waits for the next prompt; ", h("a", {href: leftAddress(view.key, row.ref)}, "Removed"), " undoes that.");
      said.firstElementChild.focus();
      back.remove();
    } catch (error) {
      if (!view.signal.aborted) said.replaceChildren(h("b.bad", error.message));
    }
  };
  const back = row.ref && buttonOf(row.what || "this block", "Bring back", onclick, ".link");
  return soft(h("b", "Removed: "), own(row.why || `${row.reason || "undrift removed it"}.`), ` It saves ${count(row.tokens, "token")}${price && `, ${price}`}. `, back, " ", said);
}
