/* What a page must have for everybody to use it. Returns sentences on what is wrong; run in the page by test_pages.py. */
() => {
  const found = [];
  const shown = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && getComputedStyle(el).visibility !== "hidden" && !el.closest(".visually-hidden");
  };
  const start = (el) => el.outerHTML.slice(0, 90);

  let level = 0;
  for (const heading of document.querySelectorAll("main :is(h1, h2, h3, h4)")) {
    if (heading.closest("dialog:not([open])")) continue;
    const next = Number(heading.tagName[1]);
    if (next > level + 1) found.push(`heading ${next} after ${level}: ${heading.textContent.trim()}`);
    level = next;
  }
  if (document.querySelectorAll("h1").length !== 1) found.push("not one first heading");

  const ids = [...document.querySelectorAll("[id]")].map((el) => el.id);
  new Set(ids.filter((id, place) => ids.indexOf(id) !== place)).forEach((id) => found.push(`id twice: ${id}`));
  for (const el of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) {
    const named = `${el.getAttribute("aria-labelledby") || ""} ${el.getAttribute("aria-describedby") || ""}`;
    named.split(/\s+/).filter((id) => id && !document.getElementById(id)).forEach((id) => found.push(`no element ${id}`));
  }
  for (const el of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!el.labels.length && !el.getAttribute("aria-label")) found.push(`no label: ${start(el)}`);
  }
  for (const el of document.querySelectorAll("a, button, summary")) {
    if (!el.textContent.trim() && !el.getAttribute("aria-label")) found.push(`no name: ${start(el)}`);
  }

  /* Contrast: 4.5, or 3 for large text (WCAG 2.2, 1.4.3). A canvas turns any CSS colour into numbers. */
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const numbers = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * (top[3] / 255) + below[i] * (1 - top[3] / 255));
  const linear = (value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
  const ground = (el) => {
    const layers = [];
    for (let at = el; at; at = at.parentElement) layers.unshift(numbers(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const el = texts.currentNode.parentElement;
    const words = texts.currentNode.textContent.trim();
    if (!words || !shown(el) || el.closest(":disabled, noscript")) continue;
    const style = getComputedStyle(el);
    const back = ground(el);
    const [high, low] = [light(over(numbers(style.color), back)), light(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(1)}: ${words.slice(0, 40)}`);
  }

  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push(`${wide} px wider than the window`);
  return [...new Set(found)];
}
