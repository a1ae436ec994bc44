// Loads what changes on the dashboard again, a while after something did.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const parts = document.getElementById("jy-parts");
  if (!parts) return;
  const open = () => [...parts.querySelectorAll("details[open]")].map((box) => box.id);

  async function load() {
    const answer = await fetch(parts.dataset.part, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const text = await answer.text();
    if (parts.contains(document.activeElement)) return; // who is about to press a button keeps it
    const opened = open();
    parts.innerHTML = text;
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  }
  // A while after something happened, so that a busy queue does not load it all the time; live.js says how it goes.
  let timer = 0;
  const soon = () => {
    timer = timer || setTimeout(() => load().catch(console.warn).finally(() => { timer = 0; }), 2000);
  };
  const status = document.querySelector("[data-live]");
  if (status) window.Jobyard.live(status, { snapshot: soon, job: soon, gone: soon, depth: soon, many: soon });
  setInterval(() => { if (!document.hidden) soon(); }, status ? 30000 : 5000); // ages and paces change by themselves
});
