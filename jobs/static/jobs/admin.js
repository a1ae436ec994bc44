// Small comforts on the admin's pages; everything works without them.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  for (const all of document.querySelectorAll("[data-select-all]")) {
    const boxes = () => all.closest("form").querySelectorAll('input[name="_selected_action"]');
    all.hidden = false;
    all.addEventListener("change", () => boxes().forEach((box) => { box.checked = all.checked; }));
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue; // only on secure pages
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
});
