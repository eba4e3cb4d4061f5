// A browser refuses a worker whose script has a file:// address. A page that is opened from a folder runs the search in a
// hidden frame of itself instead. From a server nothing of this is needed, and the browser's own workers are used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #waiting = [];
    #isReady = false;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.documentElement.append(this.#frame);
      const inner = this.#frame.contentWindow;
      inner.postMessage = (data) => this.#answer(data);
      const script = inner.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => {
        this.#isReady = true;
        this.#waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      script.onerror = (event) => this.onerror?.(event);
      inner.document.documentElement.append(script);
    }

    postMessage(data) {
      if (!this.#isReady) {
        this.#waiting.push(structuredClone(data));
        return;
      }
      const inner = this.#frame.contentWindow;
      // As between a page and a worker, each side gets a copy: both change what they hold.
      inner?.dispatchEvent(new inner.MessageEvent("message", { data: structuredClone(data) }));
    }

    terminate() {
      this.#frame.remove();
    }

    #answer(data) {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      setTimeout(() => {
        this.dispatchEvent(event);
        this.onmessage?.(event);
      });
    }
  };
}
