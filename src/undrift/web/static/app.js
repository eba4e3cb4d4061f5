// The router: the address behind # names a view; one view is open at a time.
// Law: a view that was left hears nothing more: its requests end, and its late answers are dropped.

import {button, failure, h, heading} from "./dom.js";
import {follow} from "./live.js";
import {original, searching, show as find} from "./find.js";
import {sharing} from "./share.js";
import {show as now} from "./now.js";
import {show as session} from "./session.js";
import {show as compactions} from "./compactions.js";
import {helped} from "./keys.js";
import {show as left} from "./left.js";
import {show as prompt} from "./prompt.js";
import {show as bill} from "./bill.js";
import {ofSession as sessionTasks, show as tasks} from "./tasks.js";
import {badged, show as memory} from "./memory.js";

const main = document.querySelector("main");
const VIEWS = {__proto__: null, bill, find, memory, original, tasks};
const OF_SESSION = {__proto__: null, "": session, compactions, left, tasks: sessionTasks, turn: prompt};
let newest = null, open = null, conflicts = 0;

/** A part of an address, decoded; a broken one is no error. */
const plain = part => new URLSearchParams(`part=${part.replaceAll("&", "%26").replaceAll("+", "%2B")}`).get("part");

function routed(hash) {
  const [name = "", key = "", tab = "", words = ""] = hash.replace(/^#\/?/, "").split("/").map(plain);
  const view = name === "session" ? key && OF_SESSION[tab] : VIEWS[name];
  return view ? {name, view, key, tab, words} : {name: "now", view: now};
}

/** Open the view of the address. `isFirst`: the page was just loaded, so the focus stays. */
async function navigate(isFirst) {
  open?.control.abort();
  const route = routed(location.hash), control = new AbortController();
  const root = h("div"), mine = (open = {control, update: null});
  for (const link of document.querySelectorAll("nav [data-view]")) {
    link.ariaCurrent = link.dataset.view === route.name ? "page" : null;
  }
  const box = document.querySelector(".search input");
  if (route.name !== "find" && document.activeElement !== box) box.value = "";
  main.replaceChildren(root);
  main.ariaBusy = "true";
  try {
    mine.update = await route.view(root, {...route, now: newest, signal: control.signal});
  } catch (error) {
    if (!control.signal.aborted) failed(root, error);
  }
  if (control.signal.aborted) return;
  if (newest) mine.update?.(newest);
  main.ariaBusy = null;
  const title = root.querySelector("h1");
  document.title = `${title.textContent.slice(0, 80)} · undrift`;
  if (!isFirst) {
    scrollTo(0, 0);
    title.focus({preventScroll: true});
  }
}

function failed(root, error) {
  const again = button("Try again", () => navigate(false));
  root.replaceChildren(
    heading("This could not be shown"),
    failure(error),
    h("p.pager", again, h("a", {href: "#/"}, "All sessions")),
  );
}

function said(state) {
  const place = document.querySelector(".live");
  place.className = `live ${{live: "on", reconnecting: "off"}[state] ?? ""}`;
  place.lastChild.textContent = state;
}

document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  (main.querySelector("h1") ?? main).focus();
});
searching(document.querySelector(".search"));
sharing(document.querySelector("#share"), main);
helped(document.querySelector("#keys"));
addEventListener("hashchange", () => navigate(false));
follow(value => {
  if (value.conflicts !== conflicts) badged((conflicts = value.conflicts));
  newest = value;
  open?.update?.(value);
}, said);
navigate(true);
