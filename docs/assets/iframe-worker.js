// Browsers start no Worker from a file. The search needs one: this is one in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (url) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          Object.assign(script, { src: url, onload: done, onerror: failed });
          inside.document.body.appendChild(script);
        });
      inside.postMessage = answer;
      inside.importScripts = (...urls) =>
        urls.reduce((before, url) => before.then(() => load(new URL(url, address))), Promise.resolve());
      this.ready = load(address);
    }
    postMessage(data) {
      const send = () => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      this.ready.then(send);
    }
  };
}
