// Moves the bars while the video is being made: asks for the facts, draws them, and stops when it has ended.
"use strict";
{
  const live = document.getElementById("live");
  const bars = document.getElementById("bars");
  const blank = document.getElementById("bar");
  const LONGEST_WAIT = 30; // seconds between two tries while the site does not answer
  let failures = 0;
  let timer = 0;
  let asking = false;
  let over = false;

  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  const rowOf = (name) => {
    for (const row of bars.children) if (row.dataset.name === name) return row;
    const row = blank.content.firstElementChild.cloneNode(true);
    row.dataset.name = name;
    put(row.querySelector(".name"), name);
    row.querySelector("progress").setAttribute("aria-label", name);
    bars.append(row);
    return row;
  };

  const drawBar = (bar) => {
    const row = rowOf(bar.name);
    row.dataset.status = bar.status;
    row.querySelector("progress").value = bar.percent;
    put(row.querySelector(".percent"), `${bar.percent} %`);
    put(row.querySelector(".text"), bar.text);
    put(row.querySelector(".error"), bar.error);
  };

  const draw = (state) => {
    const status = document.getElementById("status");
    put(status, state.status);
    status.className = `chip ${state.status}`;
    put(document.getElementById("live-text"), state.text);
    put(document.getElementById("live-percent"), `${state.percent} %`);
    document.getElementById("live-bar").value = state.percent;
    const error = document.getElementById("live-error");
    put(error, state.error);
    error.hidden = !state.error;
    const names = state.bars.map((bar) => bar.name);
    for (const row of [...bars.children]) if (!names.includes(row.dataset.name)) row.remove();
    state.bars.forEach(drawBar);
  };

  const say = (text) => {
    const note = document.getElementById("live-note");
    put(note, text);
    note.hidden = !text;
  };

  const stop = (text) => {
    over = true;
    say(text);
  };

  const end = (version) => {
    // Whoever is watching the version before must not be interrupted.
    if (!document.getElementById("player")) location.reload();
    else if (version !== live.dataset.version) stop("A new version is ready. Reload the page to watch it.");
    else stop("It has ended without a new version. Reload the page to see why.");
  };

  const later = (seconds) => {
    clearTimeout(timer);
    timer = setTimeout(ask, seconds * 1000);
  };

  const hear = async (answer) => {
    if (answer.status === 403 || answer.status === 404) return stop("This page is out of date. Reload it.");
    const state = await answer.json();
    failures = 0;
    say("");
    draw(state);
    return state.again ? later(state.again) : end(state.version);
  };

  const ask = async () => {
    if (document.hidden || asking || over) return; // a hidden page goes on when somebody looks at it
    asking = true;
    try {
      await hear(await fetch(live.dataset.address, { headers: { Accept: "application/json" } }));
    } catch {
      failures += 1;
      say("The site does not answer; trying again.");
      later(Math.min(LONGEST_WAIT, 2 ** failures));
    } finally {
      asking = false;
    }
  };

  document.addEventListener("visibilitychange", () => { if (!document.hidden) later(0); });
  later(Number(live.dataset.again));
}
