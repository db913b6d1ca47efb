/* The search page while one types: results at once, completions, arrows. A plain form does the same without this file. */
(function () {
  "use strict";

  const form = document.querySelector("[data-search-form]");
  const field = form && form.elements.q;
  const results = document.getElementById("results");
  const told = document.getElementById("results-told");
  const offers = document.getElementById("q-offers");
  if (!field || !results || !told || !offers) return;

  const PAUSE = 300; // ms without a key before results are asked for
  const OFFERED = 150; // ms before completions are
  const SPOKEN = 800; // ms of rest before a count is announced
  const SHORTEST = 2;

  /* One request of a kind at a time: a newer one ends the older, whose answer is never shown. */
  function asker() {
    let current = null;
    return {
      async ask(url, headers) {
        if (current) current.abort();
        const mine = current = new AbortController();
        try {
          const answer = await fetch(url, { headers, signal: mine.signal, credentials: "same-origin" });
          const body = answer.ok ? await answer.text() : null;
          return mine === current ? body : null;
        } catch { return null; } // ended by a newer one, or the console is away: what is shown stays
        finally { if (mine === current) current = null; }
      },
      waits() { return current !== null; },
      end() { if (current) current.abort(); current = null; },
    };
  }
  const forResults = asker();
  const forOffers = asker();

  /* ---- results ---- */
  let waiting = 0;
  let shown = field.value.trim();

  function address() {
    const filled = [...new FormData(form)].filter(([, value]) => String(value).trim());
    return `${new URL(form.action).pathname}?${new URLSearchParams(filled)}`;
  }

  function announce() {
    clearTimeout(announce.timer);
    announce.timer = setTimeout(() => {
      const count = results.querySelector("[data-count]");
      told.textContent = count ? count.textContent.trim() : "";
    }, SPOKEN);
  }

  async function show() {
    const wanted = field.value.trim();
    if (wanted === shown || (wanted && wanted.length < SHORTEST) || form.elements.cost.value === "deep") { rest(); return; }
    const url = address();
    results.setAttribute("aria-busy", "true");
    const body = await forResults.ask(url, { "HX-Request": "true" });
    if (!forResults.waits()) results.removeAttribute("aria-busy"); // also of a request that failed
    if (body === null) return;
    results.innerHTML = body;
    shown = wanted;
    history.replaceState(history.state, "", url);
    announce();
  }

  function soon() {
    clearTimeout(waiting);
    waiting = setTimeout(show, PAUSE);
  }

  /* What is still under way is for an older wording: it must not come in place of what is shown. */
  function rest() {
    forResults.end();
    results.removeAttribute("aria-busy");
  }

  function stop() {
    clearTimeout(waiting);
    rest();
    shown = field.value.trim();
  }

  /* ---- completions: a combobox, its options never take the focus ---- */
  let active = -1;
  let offering = 0;
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", offers.id);
  field.setAttribute("aria-expanded", "false");

  const options = () => [...offers.children];

  function close() {
    clearTimeout(offering);
    forOffers.end();
    offers.hidden = true;
    active = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function mark(at) {
    active = at;
    options().forEach((one, n) => one.setAttribute("aria-selected", String(n === at)));
    if (at < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", options()[at].id);
  }

  function option(one, at) {
    const item = document.createElement("li");
    item.id = `q-offer-${at}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.dataset.q = one.q;
    item.textContent = one.q;
    return item;
  }

  async function offer() {
    const asked = new URLSearchParams({ q: field.value, limit: "6" });
    for (const name of ["entity", "locale"]) if (form.elements[name].value) asked.set(name, form.elements[name].value);
    const body = await forOffers.ask(`${form.dataset.offers}?${asked}`, {});
    if (body === null || document.activeElement !== field) return;
    const found = JSON.parse(body).data;
    offers.replaceChildren(...found.map(option));
    active = -1;
    offers.hidden = !found.length;
    field.setAttribute("aria-expanded", String(!!found.length));
    field.removeAttribute("aria-activedescendant");
  }

  function choose(item) {
    field.value = item.dataset.q;
    close();
    clearTimeout(waiting);
    show();
  }

  offers.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  offers.addEventListener("click", (event) => {
    const item = event.target.closest("[role=option]");
    if (item) choose(item);
  });

  field.addEventListener("input", (event) => {
    if (event.isComposing) return;
    soon();
    clearTimeout(offering);
    if (/[^\W\d_]{2,}$|[\u00c0-\uffff]{2,}$/.test(field.value)) offering = setTimeout(offer, OFFERED);
    else close();
  });
  field.addEventListener("compositionend", soon);
  field.addEventListener("blur", close);
  form.addEventListener("submit", () => { close(); stop(); }, true);
  document.addEventListener("htmx:after:swap", announce);

  /* ---- arrows: through the completions, on into the hits, and back ---- */
  const links = () => [...results.querySelectorAll("[data-list] > li h2 a")];

  function go(to) {
    const all = links();
    if (to < 0) { field.focus(); return; }
    const link = all[Math.min(to, all.length - 1)];
    if (!link) return;
    all.forEach((one) => one.closest("li").classList.toggle("is-current", one === link));
    link.focus({ preventScroll: true });
    link.closest("li").scrollIntoView({ block: "nearest" });
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const open = !offers.hidden;
    const last = options().length - 1;
    if (event.key === "ArrowDown" && open && active < last) mark(active + 1);
    else if (event.key === "ArrowDown" && links().length) { close(); go(0); }
    else if (event.key === "ArrowUp" && open) mark(active < 0 ? last : active - 1);
    else if (event.key === "Enter" && open && active >= 0) choose(options()[active]);
    else if (event.key === "Escape" && open) { close(); event.stopPropagation(); }
    else return;
    event.preventDefault();
  });

  results.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const hit = event.target.closest("[data-list] > li");
    if (!step || !hit || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    go(links().indexOf(hit.querySelector("h2 a")) + step);
  });
})();
