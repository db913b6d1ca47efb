/* Draws figure[data-plot] from the table inside it. Without this file the table stays open and is the plot. */
(function () {
  "use strict";
  const token = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  };
  const charts = [];

  function draw(figure) {
    const cells = [...figure.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("[data-value]")].map((c) => Number(c.dataset.value)));
    const box = figure.querySelector(".plot-canvas");
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", figure.querySelector("figcaption").textContent);
    box.replaceChildren(canvas);
    box.hidden = false;
    const ink = token("--bs-secondary-color");
    const line = token("--bs-border-color");
    const accent = token("--bs-primary");
    const axis = (text) => ({ title: { display: true, text, color: ink }, ticks: { color: ink }, grid: { color: line }, beginAtZero: true });
    charts.push(new Chart(canvas, {
      type: figure.dataset.plot,
      data: { datasets: [{ data: cells.map(([x, y]) => ({ x, y })), borderColor: accent, backgroundColor: accent, borderWidth: 2, pointRadius: 2, tension: 0.2 }] },
      options: {
        animation: false, maintainAspectRatio: false, parsing: false,
        locale: document.documentElement.lang,
        plugins: { legend: { display: false } },
        scales: { x: { type: "linear", ...axis(figure.dataset.x) }, y: axis(figure.dataset.y) },
      },
    }));
  }

  function drawAll() {
    charts.splice(0).forEach((chart) => chart.destroy());
    document.querySelectorAll("figure[data-plot]").forEach(draw);
  }
  document.querySelectorAll("figure[data-plot] details").forEach((el) => { el.open = false; });
  document.addEventListener("co:theme", drawAll);
  drawAll();
})();
