// The help for the keyboard: which key does what, in a dialog that ? opens.
// Law: each key that the page listens to stands here.

import {button, h} from "./dom.js";
import {modal} from "./parts.js";

const KEYS = [
  ["?", "show these keys"],
  ["/", "find"],
  ["← →", "on a chart: turn by turn"],
  ["Page Up, Page Down", "on a chart: many turns at once"],
  ["Home, End", "on a chart: the first, the newest"],
  ["Enter", "on a chart: open the prompt of the turn"],
  ["[ and ]", "on a prompt: turn by turn"],
  ["Esc", "close a dialog, leave an edit"],
];

/** Make the button of the shell show the keys; so does the key ?. */
export function helped(opener) {
  opener.addEventListener("click", opened);
  addEventListener("keydown", event => {
    const isField = event.target.closest?.("input, textarea, select, dialog");
    if (event.key !== "?" || isField || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    opened();
  });
}

function opened() {
  const rows = KEYS.map(([key, text]) => h("div", h("dt", h("kbd", key)), h("dd", text)));
  const close = button("Close", () => dialog.close()), dialog = modal("Keys", h("dl.keys", rows), h("p.pager", close));
}
