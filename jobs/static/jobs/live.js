// Keeps a page up to date. Listens to a stream; asks now and then while there is none, and says which of both it does.
//
//   <p role="status" data-live="/api/events/jobs" data-stream="yes" hidden></p>     (made by the tag {% live "jobs" %})
//   Jobyard.live(element, { snapshot(all) {…}, job(job) {…}, gone({ id }) {…}, depth(depth) {…}, worker(worker) {…} });
//
// After a break the snapshot comes again: with `resumed` true it holds what was missed, else everything begins anew.
"use strict";
window.Jobyard = window.Jobyard || {};
{
  const POLL = 5; // seconds between two questions while there is no stream
  const RETRY = 30; // and between two tries to get one
  const PATIENCE = 2.5; // pings that may be missing
  const EVENTS = ["snapshot", "job", "gone", "depth", "worker", "worker_gone", "many"];
  const STATES = {
    live: "Live",
    reconnecting: "Reconnecting …",
    polling: `Polling every ${POLL} s: there is no live stream`,
    waiting: "Live, but the database does not answer",
    unreachable: "The site does not answer; trying again",
    stopped: "No longer up to date. Reload the page.",
  };

  class Live {
    constructor(element, handlers) {
      this.element = element;
      this.handlers = handlers;
      this.source = null;
      this.position = "";
      this.failures = 0;
      this.timers = {};
      this.over = false;
      document.addEventListener("visibilitychange", () => this.begin());
      window.addEventListener("pagehide", () => this.rest());
      window.addEventListener("pageshow", () => this.begin());
      this.begin();
    }

    // A hidden page costs nothing; it catches up when somebody looks at it.
    begin() {
      this.rest();
      if (document.hidden || this.over) return;
      if (this.element.dataset.stream === "no" || !window.EventSource) this.poll(0);
      else this.listen();
    }

    rest() {
      if (this.source) this.source.close();
      this.source = null;
      Object.values(this.timers).forEach(clearTimeout);
      this.timers = {};
    }

    later(name, seconds, act) {
      clearTimeout(this.timers[name]);
      this.timers[name] = setTimeout(act, seconds * 1000);
    }

    address(more) {
      const url = new URL(this.element.dataset.live, location.href);
      if (this.position) url.searchParams.set("after", this.position);
      if (more) url.searchParams.set(more, "1");
      return url;
    }

    listen() {
      const source = new EventSource(this.address());
      this.source = source;
      const on = (name, act) => source.addEventListener(name, (event) => { if (this.source === source) act(event); });
      on("open", () => this.opened());
      on("error", () => this.failed(source));
      on("ping", (event) => this.heard(event));
      on("outage", () => this.say("waiting"));
      on("recovered", () => this.say("live"));
      on("end", (event) => this.ended(JSON.parse(event.data).reason));
      for (const name of EVENTS) on(name, (event) => { this.heard(event); this.tell(name, JSON.parse(event.data)); });
    }

    opened() {
      this.failures = 0;
      for (const name of ["poll", "retry"]) clearTimeout(this.timers[name]);
      this.say("live");
      this.watch();
    }

    heard(event) {
      if (event.lastEventId) this.position = event.lastEventId;
      this.watch();
    }

    // In order: it opens again. When a server stops, not all at the same moment.
    ended(reason) {
      this.rest();
      if (reason === "stopping") this.say("reconnecting");
      this.later("open", reason === "stopping" ? Math.random() : 0, () => this.begin());
    }

    // A connection may be lost without a word.
    watch() {
      this.later("watch", PATIENCE * (this.ping || 30), () => this.begin());
    }

    failed(source) {
      this.failures += 1;
      if (source.readyState !== EventSource.CLOSED && this.failures < 3) {
        this.say("reconnecting"); // the browser tries again by itself
        return;
      }
      this.rest();
      this.poll(0);
      this.later("retry", RETRY, () => this.begin());
    }

    poll(wait) {
      this.later("poll", wait, async () => {
        if (await this.ask()) this.poll(POLL);
      });
    }

    // Whether it is worth asking again.
    async ask() {
      try {
        const answer = await fetch(this.address("once"), { headers: { Accept: "application/json" } });
        if ([401, 403, 404].includes(answer.status)) return this.stop();
        if (!answer.ok) throw new Error(answer.status);
        const all = await answer.json();
        if (all.position !== null) this.position = String(all.position);
        this.tell("snapshot", all);
        if (this.element.dataset.state === "unreachable") return this.regain();
        if (!this.source) this.say("polling");
      } catch {
        this.say("unreachable");
      }
      return !this.over;
    }

    // The site is back, and so may be its stream.
    regain() {
      this.say("reconnecting");
      this.begin();
      return false;
    }

    stop() {
      this.over = true;
      this.rest();
      this.say("stopped");
      return false;
    }

    tell(name, data) {
      if (name === "snapshot") this.ping = data.ping;
      if (this.handlers[name]) this.handlers[name](data);
    }

    say(state) {
      this.element.hidden = false;
      this.element.dataset.state = state;
      if (this.element.textContent !== STATES[state]) this.element.textContent = STATES[state];
    }
  }

  window.Jobyard.live = (element, handlers) => new Live(element, handlers);
}
