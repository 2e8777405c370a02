"use strict";
(function () {
  const config = { displayModeBar: false, responsive: true };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const figures = Array.from(document.querySelectorAll("script[data-figure]"), (script) => ({
    place: document.getElementById(script.dataset.figure),
    spec: JSON.parse(script.textContent),
  }));

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function draw(print) {
    const ink = print ? "#1c2128" : color("--ink-soft");
    const line = print ? "#c9ced6" : color("--line");
    const paper = print ? "#ffffff" : color("--page");
    for (const { place, spec } of figures) {
      const narrow = place.clientWidth < 520;
      const layout = structuredClone(spec.layout);
      layout.font.color = ink;
      layout.font.size = narrow ? 12 : 14;
      layout.width = print ? 660 : undefined;
      layout.height = (spec.layout.height || 380) + (narrow && layout.showlegend ? 70 : 0);
      for (const axis of [layout.xaxis, layout.yaxis]) {
        axis.gridcolor = line;
        axis.linecolor = ink;
        axis.title.font.size = layout.font.size;
      }
      for (const note of layout.annotations || []) {
        if (note.bgcolor) note.bgcolor = paper;
      }
      Plotly.react(place, structuredClone(spec.data), layout, config);
    }
  }

  draw(false);
  dark.addEventListener("change", () => draw(false));
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach((details) => (details.open = true));
    draw(true);
  });
  window.addEventListener("afterprint", () => {
    closed.forEach((details) => (details.open = false));
    draw(false);
  });
})();
