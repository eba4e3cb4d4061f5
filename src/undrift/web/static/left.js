// The view of what was removed from a session's window: why, what that saved, whether it was read again, and the way back.
// Law: a row shows what is on disk; an action is the server's. A purge needs two clicks.

import {aTurn, act, ask, button, buttonOf, code, count, filterBox, h, moment, number, own, pages, section, soft, wordsOf} from "./dom.js";
import {stepping} from "./keys.js";
import {address, leftAddress, liveTop, modal, onTurn, renew} from "./parts.js";
import {originalAddress} from "./find.js";

const ROWS = 50;
const GONE = "no longer stored";
const ACTS = [["Bring back", "once, into the next prompt"], ["Pin", "in every prompt from now on"], ["Purge", "destroys undrift’s copy for good"]];

export async function show(root, {key, words, now, signal}) {
  const [{session}, found] = await Promise.all([ask("session", signal, {key}), ask("left", signal, {key})]);
  const view = new LeftView(session, signal, words), head = liveTop(session, "left", signal);
  root.append(head, section("Removed from the window", view.body));
  stepping(view.list, ".memories > li", signal);
  const update = onTurn(key, signal, () => view.load());
  if (now) update(now);
  view.take(found);
  return value => {
    head.update(value);
    update(value);
  };
}

/** The list with its filter. `words`: what the address looks for. */
class LeftView {
  constructor(session, signal, words = "") {
    Object.assign(this, {session, signal, words: wordsOf(words), isOnlyAgain: false, said: new Map(), busy: false, shown: null, found: null});
    this.body = h("div");
    this.list = h("div");
    this.status = h("p.soft", {role: "status"});
    this.told = h("div");
    this.filter = filterOf(this, words);
  }

  async load() {
    this.take(await ask("left", this.signal, {key: this.session.key}));
  }

  take(found) {
    if (JSON.stringify(found) === JSON.stringify(this.found)) return;
    this.found = found;
    this.texts = found.rows.map(textOf);
    this.told.replaceChildren(found.count ? told(this) : empty(this.session));
    const wanted = found.count ? [this.told, this.filter, this.status, this.list] : [this.told, this.list];
    if (wanted.length !== this.body.children.length) this.body.replaceChildren(...wanted);
    if (found.count || this.words.length) this.draw(this.shown?.from);
  }

  draw(from = 0) {
    const has = (row, n) => this.words.every(word => fits(word, row, this.texts[n])) && (!this.isOnlyAgain || row.used_again_turn !== null);
    const rows = this.found.rows.filter(has), sum = rows.reduce((all, row) => all + row.tokens_saved, 0);
    const isAll = rows.length === this.found.rows.length;
    this.status.textContent = isAll ? summed(this.found) : !rows.length ? "" : `${count(rows.length, "block")} of ${number(this.found.rows.length)}, ${count(sum, "token")}`;
    const drawn = some => h("ul.memories", some.map(row => rowOf(this, row)));
    this.shown = rows.length ? pages(rows, ROWS, drawn, "block", from < rows.length ? from : 0) : this.none();
    renew(this.list, this.shown);
  }

  /** What stands in the place of an empty list: where the words are. */
  none() {
    const turn = this.words.find(word => TURN.test(word));
    if (turn && this.words.length === 1) return h("p.empty", `No block was removed before turn ${TURN.exec(turn)[1]}.`);
    if (!this.words.length || this.isOnlyAgain) return h("p.empty", this.words.length ? "No block with these words was read again." : "No block was read again.");
    const place = h("div.empty", {role: "status"}, "No removed block has these words here. Looking in the recording…");
    const q = this.words.filter(word => !TURN.test(word)).join(" ");
    ask("whereabouts", this.signal, {key: this.session.key, q}).then(
      found => place.replaceChildren(...where(this, found)),
      error => this.signal.aborted || place.replaceChildren(error.message),
    );
    return place;
  }

  /** Show the rows of a place. */
  named(place) {
    const box = this.filter.querySelector("#filter");
    box.value = place;
    this.look(wordsOf(place));
    box.focus();
  }

  /** Look for other words; the address goes along. */
  look(words) {
    this.words = words;
    history.replaceState(null, "", words.length ? leftAddress(this.session.key, words.join(" ")) : address(this.session.key, "left"));
    this.draw();
  }

  /** Carry out an action on a row; beside it stands what was done, or why not. */
  async act(row, name, given, worded) {
    if (this.busy) return;
    this.busy = true;
    const id = idOf(row);
    try {
      const done = await act(name, {key: this.session.key, session_id: row.session_id, by: row.by, ref: row.ref, ...given}, this.signal);
      this.said.set(id, {text: worded?.(done) ?? ""});
      await this.load();
    } catch (error) {
      if (this.signal.aborted) return;
      this.said.set(id, {text: error.message, isBad: true});
    } finally {
      this.busy = false;
    }
    this.draw(this.shown.from);
    (document.getElementById(`${id}-undo`) ?? document.getElementById(`${id}-bring-back`) ?? document.getElementById(id))?.focus({preventScroll: true});
  }
}

const idOf = row => `${row.by}-${row.session_id}-${row.ref}`;

const textOf = row => [row.what, row.place, row.why, row.reason, row.kind, row.line, row.ref].join(" ").toLowerCase();

const TURN = /^turn:(\d+)$/;

/** `turn:20` fits what was removed before that turn; another word the row's texts. */
const fits = (word, row, text) => (TURN.test(word) ? row.left_turn === Number(TURN.exec(word)[1]) : text.includes(word));

/** Where the words of a search are, if no row has them: a sentence for each text that has them. */
function where(view, {found, turns}) {
  if (!found.length) return [h("p", "No single text of this session’s recording has all these words.")];
  const prompt = n => h("a", {href: address(view.session.key, `turn/${n}`)}, `turn ${number(n)}`);
  const one = ({what, place, turn, is_here: isHere}) => {
    const since = turn ? [/^result/.test(what) ? "read in " : "written in ", prompt(turn)] : "not sent yet";
    const shown = !isHere && place && view.found.rows.some(row => row.place === place) && button("Show why", () => view.named(place), ".link");
    const said = isHere ? " is still in the window: " : shown ? " was removed; its row shows its first line alone. It was " : " is not in the window any more. It was ";
    return h("li", h("b", own(place || what)), said, since, ". ", shown);
  };
  return [h("ul.whole", found.map(one)), turns > 0 && h("p", h("a", {href: address(view.session.key, `turn/${turns}`)}, "Open the newest prompt"))].filter(Boolean);
}

function empty({client}) {
  const command = h("code", `undrift wrap ${client === "codex" ? "codex" : "claude"}`);
  return h("div", h("p", "Nothing was removed from this window so far."), soft("undrift’s gateway keeps a window small: ", command, " starts one."));
}

/** What the actions do; or what to do where nothing can say a text to the agent. */
const told = ({found, session}) =>
  found.can_bring_back
    ? soft(ACTS.map(([name, text]) => [h("b", name), `: ${text}. `]))
    : h("p.note", "To bring something back: ", h("code", `undrift install ${session.client || "claude"}`), ", then send a message in this session.");

function filterOf(view, words) {
  const box = filterBox("Look for", "words, file or turn:20", words, found => view.look(found));
  const onchange = event => {
    view.isOnlyAgain = event.target.checked;
    view.draw();
  };
  return h("p.filter", box, h("label", h("input", {type: "checkbox", id: "again", onchange}), " only what was read again"));
}

function summed({rows, count: whole, tokens: sum, used_again: again}) {
  const more = whole > rows.length ? ` The newest ${number(rows.length)} are listed.` : "";
  return `${count(whole, "block")} ${whole === 1 ? "was" : "were"} removed, ${count(sum, "token")}; ${number(again)} read again.${more}`;
}

function rowOf(view, row) {
  const {key} = view.session, isStored = row.what !== GONE, id = idOf(row);
  const name = own(row.what || row.kind), isLink = row.by === "undrift" && row.ref && isStored;
  const again = row.used_again_turn;
  const turn = row.left_turn && [" · removed before ", h("a", {href: address(key, `turn/${row.left_turn}`)}, `turn ${number(row.left_turn)}`)];
  const figures = [count(row.tokens_saved, "token"), aTurn(row.usd_a_turn), row.at_ms && moment(row.at_ms)].filter(Boolean).join(" · ");
  const reason = own(row.reason || row.kind);
  const readAgain = again !== null && [" · ", h("b", "read again in ", h("a", {href: address(key, `turn/${again}`)}, `turn ${number(again)}`))];
  const what = h(
    "div.what",
    h("p.said", isLink ? h("a", {href: originalAddress(view.found.project_key, row.ref)}, name) : h("b", name), row.place && [" · ", h("b", own(row.place))]),
    row.line && code(row.line),
    row.why && h("p", row.why),
    soft(row.why ? figures : [reason, ` · ${figures}`], turn, readAgain),
    row.why && row.reason && h("details", h("summary", "in figures"), soft(reason)),
    stateOf(view, row, id),
  );
  return h("li", {id, tabindex: "-1"}, h("div.line", what, row.ref && isStored && actsOf(view, row, id)));
}

const control = (id, name, row, text, onclick, kind) => buttonOf(row.what || row.kind, text, onclick, kind, `${id}-${name}`);

const SENT = {undrift: "In the prompt since then. It leaves with the next prune.", client: "Given to the agent with a message. It leaves with the next compaction."};

/** What was asked for this row and what became of it, with the way back. */
function stateOf(view, row, id) {
  const said = view.said.get(id);
  const undo = (ref, worded) => [" · ", control(id, "undo", row, "Undo", () => view.act(row, "bring-undo", {ref}, worded), ".link")];
  const lines = [];
  if (row.back === "waiting") lines.push(["Waits for the next prompt", undo(row.back_pin, () => "Not brought back.")]);
  if (row.back === "sent") lines.push([SENT[row.by]]);
  if (row.pin) lines.push(["Pinned: in every prompt from the next one on", undo(row.pin, unpinned)]);
  const isNews = said?.text && (said.isBad || !lines.length);
  return [lines.map(line => h("p.good", line)), isNews && h(`p.${said.isBad ? "bad" : "soft"}`, {role: said.isBad ? "alert" : "status"}, said.text)];
}

const unpinned = ({was_sent: wasSent}) =>
  `Not pinned any more.${wasSent ? " What was said leaves with the next compaction." : wasSent === null ? " If a prompt has it already, it leaves with the next prune." : ""}`;

function actsOf(view, row, id) {
  const canSay = view.found.can_bring_back && !row.pin;
  return h(
    "p.acts",
    canSay && !row.back && control(id, "bring-back", row, "Bring back", () => view.act(row, "bring-back")),
    canSay && control(id, "pin", row, "Pin", () => view.act(row, "pin")),
    row.by === "undrift" && control(id, "purge", row, "Purge…", () => purge(view, row).catch(error => failed(view, id, error))),
  );
}

function failed(view, id, error) {
  if (view.signal.aborted) return;
  view.said.set(id, {text: error.message, isBad: true});
  view.draw(view.shown.from);
}

/** Ask once more before a block is destroyed, then say where its words still are. */
async function purge(view, row) {
  const given = {key: view.session.key, session_id: row.session_id, ref: row.ref};
  const look = await ask("purge-look", view.signal, given);
  const body = h("div"), said = h("p.bad", {role: "alert"}), close = button("Keep it", () => dialog.close());
  const destroy = async () => {
    go.disabled = true;
    try {
      const done = await act("purge", {...given, confirm: row.ref}, view.signal);
      close.textContent = "Close";
      body.replaceChildren(...purged(done));
      close.focus();
      go.remove();
      await view.load();
    } catch (error) {
      said.textContent = error.message;
      go.disabled = false;
    }
  };
  const go = button("Purge it for good", destroy, ".danger");
  const others = look.others > 1 ? ` ${number(look.others)} blocks of it have these very words.` : "";
  body.append(
    h("p", "Destroys undrift’s copy of ", h("b", own(look.what)), ` (${count(look.tokens, "token")}), and what was brought back of it. `, h("b", "It is final.")),
    h("p", "Your client’s own recording still holds it: ", code(look.recording), `.${others} undrift never changes that file.`),
  );
  const dialog = modal("Purge", body, said, h("p.pager", close, go));
  view.signal.addEventListener("abort", () => dialog.close());
  close.focus();
}

function purged({copies, traces, remains, unsearched, recording}) {
  const listed = (title, texts) => texts.length > 0 && [h("p", title), h("ul.told", texts.map(text => h("li", code(text))))];
  return [
    h("p", h("b.good", "Destroyed."), " The words may still stand elsewhere:"),
    listed("Your client’s own recording, which undrift never changes:", [recording]),
    listed("Other records of undrift that say the same:", copies),
    listed("Files of undrift’s folder, which are yours to delete:", traces),
    listed("Files that were too large to search:", unsearched),
    remains && h("p", remains),
  ].flat().filter(Boolean);
}
