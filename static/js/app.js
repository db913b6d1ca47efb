/* What the console adds to plain links and forms. Every page works without this file. No eval, no inline handlers. */
(function () {
  "use strict";

  const root = document.documentElement;
  const typing = (el) => el && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));
  const on = (name, handler, options) => document.addEventListener(name, handler, options);

  /* ---- theme: a cookie for the server, localStorage for this browser ---- */
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (stored && !root.dataset.bsTheme) root.dataset.bsTheme = stored;

  function shownTheme() {
    return root.dataset.bsTheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  function labelTheme() {
    const button = document.querySelector("[data-theme-form] button");
    if (!button) return;
    const next = shownTheme() === "dark" ? "light" : "dark";
    button.value = next;
    button.title = button.dataset[next];
    button.setAttribute("aria-label", button.dataset[next]);
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, next === "light" ? "#sun" : "#moon"));
  }

  on("submit", (event) => {
    if (!event.target.matches("[data-theme-form]")) return;
    event.preventDefault();
    const next = shownTheme() === "dark" ? "light" : "dark";
    root.dataset.bsTheme = next;
    document.cookie = `theme=${next}; path=/; max-age=31536000; samesite=lax`;
    try { localStorage.setItem("theme", next); } catch { /* private windows may refuse */ }
    labelTheme();
    document.dispatchEvent(new CustomEvent("co:theme"));
  });

  /* ---- dialogs: focus goes back to where they were opened ---- */
  function openDialog(dialog, opener) {
    if (!dialog || dialog.open) return;
    dialog.returnValue = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      const target = opener && opener.isConnected ? opener : document.getElementById("content");
      if (target) target.focus();
    }, { once: true });
  }

  on("click", (event) => {
    const opener = event.target.closest("[data-open-dialog]");
    if (opener) {
      const menu = opener.closest("details.menu");
      if (menu) menu.open = false;
      openDialog(document.getElementById(opener.dataset.openDialog), menu ? menu.querySelector("summary") : opener);
    }
    const closer = event.target.closest("[data-close-dialog]");
    const dialog = closer && closer.closest("dialog");
    if (dialog) { event.preventDefault(); dialog.close("keep"); }
    if (event.target.matches("dialog.dialog")) event.target.close("keep"); // the backdrop
    document.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });

  /* A form that asks first: the dialog states what happens, its own button sends the form. */
  on("submit", (event) => {
    const form = event.target;
    const dialog = form.dataset.confirmDialog && document.getElementById(form.dataset.confirmDialog);
    if (!dialog || form.dataset.confirmed) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    dialog.addEventListener("close", () => {
      if (dialog.returnValue !== "confirm") return;
      form.dataset.confirmed = "1";
      form.requestSubmit();
    }, { once: true });
    openDialog(dialog, event.submitter);
  }, true);

  /* One click, one request. */
  on("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    form.dataset.sent = "1";
  }, true);
  addEventListener("pageshow", () => document.querySelectorAll("[data-sent]").forEach((form) => delete form.dataset.sent));

  /* ---- htmx ---- */
  on("htmx:config:request", (event) => {
    const source = event.detail.ctx.sourceElement;
    const polled = /^every /.test(source.getAttribute("hx-trigger") || "");
    const busy = polled && source.querySelector("dialog[open]");
    if (polled && (document.hidden || busy)) event.preventDefault();
  });
  on("visibilitychange", () => {
    if (!document.hidden) document.querySelectorAll("[hx-trigger^='every ']").forEach((el) => el.dispatchEvent(new CustomEvent("every")));
  });
  on("htmx:after:swap", (event) => {
    const ctx = event.detail.ctx;
    const id = ctx.sourceElement && ctx.sourceElement.dataset.opens;
    if (id) openDialog(document.getElementById(id), ctx.sourceElement.querySelector("button:not([type=button])"));
    tick();
    countSelected();
  });
  on("htmx:finally:request", (event) => {
    const form = event.detail.ctx.sourceElement;
    if (form && form.dataset) delete form.dataset.sent;
  });
  on("change", (event) => {
    const select = event.target.closest("[data-autosubmit]");
    const form = select && select.form;
    if (form && form.matches("[data-search-form]")) {
      const words = form.querySelector("[name=q]");
      if (words && words.value.trim()) form.requestSubmit();
    } else if (form) form.requestSubmit();
  });

  /* ---- keyboard ---- */
  let going = 0;
  const items = () => [...document.querySelectorAll("[data-list] > tr, [data-list] > li")].filter((el) => el.querySelector("a"));

  function move(step) {
    const list = items();
    if (!list.length) return;
    const at = list.findIndex((el) => el.classList.contains("is-current"));
    const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + step))];
    list.forEach((el) => el.classList.toggle("is-current", el === next));
    const link = next.querySelector("a");
    link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function focusSearch() {
    const field = document.querySelector("[data-search]");
    if (field) { field.focus(); field.select(); }
  }

  on("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target)) { if (event.key === "Escape") event.target.blur(); return; }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") document.querySelectorAll("details.menu[open]").forEach((menu) => { menu.open = false; menu.querySelector("summary").focus(); });
    if (Date.now() - going < 1500 && event.key.length === 1) {
      going = 0;
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); location.assign(link.href); }
      return;
    }
    const act = { "/": focusSearch, j: () => move(1), k: () => move(-1), g: () => { going = Date.now(); },
      "?": () => openDialog(document.getElementById("shortcuts"), document.activeElement) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  /* ---- rows open on click; middle click opens a tab ---- */
  function openRow(event) {
    const row = event.target.closest("tr[data-href]");
    if (!row || event.target.closest("a, button, input, label, summary") || String(getSelection())) return;
    if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(row.dataset.href, "_blank", "noopener");
    else if (event.button === 0) location.assign(row.dataset.href);
  }
  on("click", openRow);
  on("auxclick", openRow);

  /* ---- choosing rows, with shift for a range ---- */
  let last = null;
  const boxes = (table) => [...table.querySelectorAll("tbody input[type=checkbox]")];

  function countSelected() {
    document.querySelectorAll("table[data-select]").forEach((table) => {
      const all = boxes(table);
      const chosen = all.filter((box) => box.checked);
      all.forEach((box) => box.closest("tr").classList.toggle("is-chosen", box.checked));
      const master = table.querySelector("[data-select-all]");
      if (master) {
        master.hidden = false;
        master.checked = chosen.length > 0 && chosen.length === all.length;
        master.indeterminate = chosen.length > 0 && chosen.length < all.length;
      }
      const form = table.closest("form");
      const bar = form && form.querySelector("[data-select-bar]");
      if (bar) bar.hidden = !chosen.length;
      if (form) form.querySelectorAll("[data-select-count]").forEach((el) => { el.textContent = chosen.length ? `(${chosen.length})` : ""; });
    });
  }

  on("click", (event) => {
    const table = event.target.closest("table[data-select]");
    if (!table || !event.target.matches("input[type=checkbox]")) return;
    const all = boxes(table);
    if (event.target.matches("[data-select-all]")) all.forEach((box) => { box.checked = event.target.checked; });
    else {
      if (event.shiftKey && last && all.includes(last)) {
        const [from, to] = [all.indexOf(last), all.indexOf(event.target)].sort((a, b) => a - b);
        all.slice(from, to + 1).forEach((box) => { box.checked = event.target.checked; });
      }
      last = event.target;
    }
    countSelected();
  });

  /* ---- copying a secret that is shown once; without a clipboard it is marked for copying by hand ---- */
  on("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = button.dataset.copied;
    } catch { getSelection().selectAllChildren(source); }
  });

  /* ---- relative times go on by themselves; the exact instant stays in the title ---- */
  const words = new Intl.RelativeTimeFormat(root.lang || "en", { numeric: "always" });
  function relative(seconds) {
    const size = Math.abs(seconds);
    if (size < 60) return words.format(Math.round(seconds), "second");
    if (size < 3600) return words.format(Math.round(seconds / 60), "minute");
    return words.format(Math.round(seconds / 3600), "hour");
  }
  function tick() {
    document.querySelectorAll("time[data-rel]").forEach((el) => {
      const seconds = (new Date(el.dateTime) - Date.now()) / 1000;
      if (Math.abs(seconds) < 86400) el.textContent = relative(seconds);
    });
  }
  setInterval(() => { if (!document.hidden) tick(); }, 15000);

  /* ---- long forms keep what was typed, for this tab only ---- */
  document.querySelectorAll("form[data-draft]").forEach((form) => {
    const key = `draft:${location.pathname}:${form.dataset.draft}`;
    const fields = [...form.elements].filter((el) => el.name && /^(TEXTAREA|SELECT)$|^INPUT$/.test(el.tagName) && !/^(hidden|password|submit)$/.test(el.type));
    const read = () => Object.fromEntries(fields.map((el) => [el.name, el.type === "checkbox" ? el.checked : el.value]));
    const write = (values) => fields.forEach((el) => {
      if (!(el.name in values)) return;
      if (el.type === "checkbox") el.checked = values[el.name]; else el.value = values[el.name];
    });
    const original = read();
    let draft = null;
    try { draft = JSON.parse(sessionStorage.getItem(key)); } catch { /* unreadable: start afresh */ }
    const note = form.querySelector("[data-draft-note]");
    if (draft && JSON.stringify(draft) !== JSON.stringify(original) && !form.querySelector("[aria-invalid]")) {
      write(draft);
      if (note) note.hidden = false;
    }
    form.addEventListener("input", () => { try { sessionStorage.setItem(key, JSON.stringify(read())); } catch { /* full */ } });
    form.addEventListener("submit", () => sessionStorage.removeItem(key));
    const discard = form.querySelector("[data-draft-discard]");
    if (discard) discard.addEventListener("click", () => { write(original); sessionStorage.removeItem(key); note.hidden = true; });
  });

  document.querySelectorAll("button[data-open-dialog][hidden], button[data-copy][hidden]").forEach((el) => { el.hidden = false; });
  labelTheme();
  countSelected();
  addEventListener("pageshow", countSelected); // the browser may have kept what was chosen
})();
