// Loads what changes on the dashboard again, a while after something did.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const parts = document.getElementById("jy-parts");
  if (!parts) return;
  const status = document.getElementById("jy-live");
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
  async function poll() {
    try {
      if (!document.hidden) await load();
      status.textContent = "updates every 5 s";
    } catch (error) {
      status.textContent = "no connection, trying again";
    }
    setTimeout(poll, 5000);
  }
  setTimeout(poll, 5000);
});
