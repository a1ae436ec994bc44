// The list of jobs and the page of one, kept up to date by live.js. Without it they show what was true when they came.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const status = document.querySelector("[data-live]");
  if (!status) return;
  let ahead = 0; // milliseconds that the server's clock is ahead of ours
  const jobs = new Map();

  const put = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  const cell = (row, name) => row.querySelector(`[data-cell="${name}"]`);

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.textContent = text;
    return element;
  };

  const duration = (seconds) => {
    const left = Math.max(0, Math.floor(seconds));
    for (const [unit, size, smaller, part] of [["d", 86400, "h", 3600], ["h", 3600, "m", 60], ["m", 60, "s", 1]]) {
      if (left < size) continue;
      const rest = Math.floor((left % size) / part);
      return `${Math.floor(left / size)}${unit}` + (rest ? `${rest}${smaller}` : "");
    }
    return `${left}s`;
  };

  const since = (moment) => (Date.now() + ahead - Date.parse(moment)) / 1000;
  const left = (eta) => (eta === null ? "" : `about ${duration(eta)} left`);

  // How long it waits, runs, or took: as the server says it.
  const time = (job) => {
    if (job.status === "pending") {
      const waits = since(job.run_after);
      return waits < 0 ? `in ${duration(-waits)}` : `waits ${duration(waits)}`;
    }
    const begun = job.started_at || job.claimed_at;
    if (job.status === "running") return `runs ${duration(since(begun))}`;
    const ago = `${duration(since(job.finished_at))} ago`;
    return begun ? `took ${duration((Date.parse(job.finished_at) - Date.parse(begun)) / 1000)}, ${ago}` : ago;
  };

  const drawBadge = (where, state) => {
    const badge = where && where.querySelector(".jy-badge");
    if (!badge) return;
    badge.className = `jy-badge jy-${state}`;
    put(badge, state.replaceAll("_", " "));
  };

  const drawBar = (where, percent, label) => {
    let bar = where.querySelector(".jy-bar");
    if (!bar) {
      bar = make("span", "jy-bar", "");
      bar.append(document.createElement("progress"), "");
      bar.firstChild.max = 100;
      bar.firstChild.setAttribute("aria-label", `Progress of ${label}`);
      where.prepend(bar);
    }
    bar.firstChild.value = percent;
    put(bar.lastChild, `${percent} %`);
  };

  const note = (where, text) => {
    const small = where.querySelector("small") || (text && where.appendChild(make("small", "", "")));
    if (small) put(small, text);
  };

  const drawRow = (row, job) => {
    const running = job.status === "running";
    put(cell(row, "queue"), job.queue);
    drawBadge(cell(row, "state"), job.state);
    note(cell(row, "state"), running && job.cancel_requested ? "asked to stop" : "");
    if (running || job.progress) drawBar(cell(row, "progress"), job.progress, `job ${job.id} (${job.kind})`);
    note(cell(row, "progress"), running ? [job.step.slice(0, 40), left(job.eta)].filter(Boolean).join(" · ") : "");
    put(cell(row, "attempt"), `${job.attempt} of ${job.max_attempts}`);
    put(cell(row, "worker"), job.worker ? job.worker.name.slice(0, 30) : "");
    put(cell(row, "time"), time(job));
    const error = cell(row, "error");
    error.hidden = !job.error;
    put(error.lastChild, (job.error || "").slice(0, 120));
  };

  const rowOf = (id) => document.querySelector(`tr[data-job="${Number(id)}"]`);

  const list = {
    job(job) {
      const row = rowOf(job.id);
      if (!row) return;
      jobs.set(job.id, job);
      row.classList.remove("jy-deleted");
      drawRow(row, job);
    },
    gone({ id }) {
      jobs.delete(id);
      const row = rowOf(id);
      if (row) row.classList.add("jy-deleted");
    },
    snapshot(all) {
      ahead = Date.parse(all.now) - Date.now();
      const there = new Set(all.jobs.map((job) => String(job.id)));
      for (const row of document.querySelectorAll("tr[data-job]")) if (!there.has(row.dataset.job)) list.gone({ id: Number(row.dataset.job) });
      all.jobs.forEach(list.job);
    },
  };

  const parts = (kind) => [...document.querySelectorAll(`tr[data-${kind}]`)];

  const drawPart = (kind, part) => {
    const row = parts(kind).find((each) => each.dataset[kind] === part.name);
    drawBadge(cell(row, "state"), part.status);
    drawBar(cell(row, "progress"), part.progress, part.name);
    if (kind !== "quality") return;
    put(cell(row, "eta"), left(part.eta));
    if (part.segments_total !== null || part.segments_completed) {
      put(cell(row, "segments"), `${part.segments_completed} of ${part.segments_total === null ? "?" : part.segments_total}`);
    }
  };

  // What else there is to see of a job, its history and its buttons, changes with these: then the page is fetched anew.
  const isOther = (page, job) =>
    page.dataset.state !== job.state || page.dataset.attempt !== String(job.attempt) || page.dataset.queue !== job.queue
    || page.dataset.priority !== String(job.priority) || page.dataset.stopping !== (job.cancel_requested ? "yes" : "no")
    || parts("phase").length !== job.phases.length || parts("quality").length !== job.qualities.length;

  let fetching = null;
  const refresh = async () => {
    const page = document.querySelector(".jy-job");
    if (page.contains(document.activeElement) && document.activeElement.closest("form")) {
      page.addEventListener("focusout", () => setTimeout(refresh), { once: true }); // not under somebody's finger
      return;
    }
    fetching = fetching || fetch(location.href).then((answer) => (answer.ok ? answer.text() : null)).finally(() => { fetching = null; });
    const text = await fetching;
    const fresh = text && new DOMParser().parseFromString(text, "text/html");
    const body = fresh && fresh.querySelector(".jy-job");
    if (!body) return;
    const open = [...page.querySelectorAll("details")].map((each) => each.open);
    page.replaceWith(body);
    body.querySelectorAll("details").forEach((each, number) => { if (open[number] !== undefined) each.open = open[number]; });
    document.querySelector("#content h1").replaceWith(fresh.querySelector("#content h1"));
  };

  const one = {
    job(job) {
      const page = document.querySelector(".jy-job");
      drawBadge(document.querySelector("#content h1"), job.state);
      drawBar(cell(page, "progress"), job.progress, `job ${job.id}`);
      put(cell(page, "step"), job.step);
      put(cell(page, "eta"), left(job.eta));
      if (isOther(page, job)) {
        refresh();
        return;
      }
      job.phases.forEach((phase) => drawPart("phase", phase));
      job.qualities.forEach((quality) => drawPart("quality", quality));
    },
    gone() {
      drawBadge(document.querySelector("#content h1"), "deleted");
      document.querySelectorAll(".jy-job button[type=submit]").forEach((button) => { button.disabled = true; });
    },
    snapshot(all) {
      if (all.jobs.length) all.jobs.forEach(one.job);
      else one.gone();
    },
  };

  const page = document.querySelector(".jy-job");
  window.Jobyard.live(status, page ? one : list);
  if (!page) setInterval(() => jobs.forEach((job) => { if (!document.hidden) put(cell(rowOf(job.id), "time"), time(job)); }), 5000);
});
