// The help for the keyboard: which key does what, in a dialog that ? opens.
// Law: each key that the page listens to stands here.

import {button, h, isTaken} from "./dom.js";
import {modal} from "./parts.js";

const KEYS = [
  ["?", "show these keys"],
  ["/", "find"],
  ["← →", "on a chart: turn by turn"],
  ["Page Up, Page Down", "on a chart: many turns at once"],
  ["Home, End", "on a chart: the first, the newest"],
  ["Enter", "on a chart: open the prompt of the turn"],
  ["[ and ]", "on a prompt: turn by turn"],
  ["j, k or ↓ ↑", "in a list of blocks: block by block"],
  ["Esc", "close a dialog, leave an edit"],
];

/** Let j and k, and the arrow keys within a list, go from one of its blocks to the next. */
export function stepping(list, selector, signal) {
  const onkeydown = event => {
    const step = {j: 1, k: -1, ArrowDown: 1, ArrowUp: -1}[event.key], {target} = event;
    if (!step || isTaken(event) || (event.key.length > 1 && !list.contains(target))) return;
    const all = [...list.querySelectorAll(selector)], at = all.indexOf(target.closest?.(selector));
    const next = at < 0 ? all.at(step > 0 ? 0 : -1) : all[at + step];
    if (!next) return;
    event.preventDefault();
    next.scrollIntoView({block: "nearest"});
    next.focus({preventScroll: true});
  };
  addEventListener("keydown", onkeydown, {signal});
}

/** Make the button of the shell show the keys; so does the key ?. */
export function helped(opener) {
  opener.addEventListener("click", opened);
  addEventListener("keydown", event => {
    if (event.key !== "?" || isTaken(event)) return;
    event.preventDefault();
    opened();
  });
}

function opened() {
  const rows = KEYS.map(([key, text]) => h("div", h("dt", h("kbd", key)), h("dd", text)));
  const close = button("Close", () => dialog.close()), dialog = modal("Keys", h("dl.keys", rows), h("p.pager", close));
}
