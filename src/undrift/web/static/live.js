// The stream of what is live: opened again when it breaks, closed while nobody looks.
// Law: its state is always said in words; the page never shows old figures as live ones.

const LONGEST_WAIT_S = 15;

/** `onNow`: takes each object; `onState`: "connecting", "live" or "reconnecting". */
export function follow(onNow, onState) {
  let stream = null, timer = 0, wait_s = 1;
  const close = () => {
    clearTimeout(timer);
    stream?.close();
    stream = null;
  };
  const open = () => {
    close();
    stream = new EventSource("api/live");
    stream.addEventListener("open", () => {
      wait_s = 1;
      onState("live");
    });
    stream.addEventListener("now", event => onNow(JSON.parse(event.data)));
    stream.addEventListener("error", () => {
      close();
      onState("reconnecting");
      timer = setTimeout(open, wait_s * 1_000);
      wait_s = Math.min(LONGEST_WAIT_S, wait_s * 2);
    });
  };
  const look = () => {
    onState("connecting");
    if (document.hidden) close();
    else open();
  };
  document.addEventListener("visibilitychange", look);
  look();
}
