// Figures of Plotly, in the colours of the page, as wide as their place.

const config = { displayModeBar: false, responsive: true, scrollZoom: false };
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map();

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function paint(place, spec) {
  const narrow = place.clientWidth < 520;
  const layout = structuredClone(spec.layout);
  const ink = color("--ink-soft");
  layout.font.color = ink;
  layout.font.size = narrow ? 12 : 14;
  layout.hoverlabel = {
    align: "left",
    bgcolor: color("--page"),
    bordercolor: ink,
    font: { color: color("--ink"), size: 13 },
  };
  const scene = layout.scene || {};
  for (const axis of [layout.xaxis, layout.yaxis, scene.xaxis, scene.yaxis, scene.zaxis]) {
    if (!axis) continue;
    axis.gridcolor = color("--line");
    axis.linecolor = ink;
    if (layout.scene) axis.color = ink;
    if (axis.title && axis.title.font) axis.title.font.size = narrow ? 11 : 13;
  }
  if (layout.scene && narrow) layout.height = 340;
  Plotly.react(place, structuredClone(spec.data), layout, config);
}

export function draw(place, spec) {
  const first = !drawn.has(place);
  drawn.set(place, spec);
  paint(place, spec);
  return first;
}

dark.addEventListener("change", () => drawn.forEach((spec, place) => paint(place, spec)));
