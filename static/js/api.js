/* Filters the page of the API, and opens what a link inside it leads to. The page is whole without this file. */
(function () {
  "use strict";
  const filter = document.querySelector("[data-api-filter]");
  const field = filter.querySelector("input");
  const count = filter.querySelector("[data-api-count]");
  const entries = [...document.querySelectorAll("[data-api-entry]")].map((element) => ({ element, text: element.textContent.toLowerCase() }));
  filter.hidden = false;

  function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { element, text } of entries) {
      element.hidden = !words.every((word) => text.includes(word));
      shown += element.hidden ? 0 : 1;
    }
    document.querySelectorAll("[data-api-group]").forEach((group) => {
      group.hidden = !group.querySelector("[data-api-entry]:not([hidden])");
    });
    count.textContent = !words.length ? "" : shown ? `${shown} / ${entries.length}` : count.dataset.none;
  }

  function open() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.hidden) { field.value = ""; show(); }
    if (target.matches("details")) { target.open = true; target.scrollIntoView(); }
  }

  field.addEventListener("input", show);
  window.addEventListener("hashchange", open);
  open();
})();
