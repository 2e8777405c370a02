// Charts of bars as the report draws them: places are percents, so they are as wide as their place.
import { el, fill } from "./dom.js";

function svg(tag, props, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function bar(each) {
  const made = svg("rect", { x: each.left + "%", width: each.width + "%", y: 100 - each.height + "%", height: each.height + "%", fill: "#2f7ed8" });
  made.append(svg("title", {}, each.text));
  return made;
}

export function chart(place, values) {
  const plot = svg("svg", {});
  for (const [at, text] of values.y.ticks) {
    plot.append(svg("line", { class: "grid", x2: "100%", y1: at + "%", y2: at + "%" }));
    plot.append(svg("text", { class: "tick", x: "-8", y: at + "%", dy: ".35em", "text-anchor": "end" }, text));
  }
  for (const [at, text] of values.x.ticks) {
    plot.append(svg("text", { class: "tick", x: at + "%", y: "100%", dy: "1.4em", "text-anchor": "middle" }, text));
  }
  plot.append(...values.bars.map(bar));
  plot.append(svg("line", { class: "axis", x2: "100%", y1: "100%", y2: "100%" }));
  place.classList.add("chart");
  place.style.setProperty("--beside", values.margin + "ch");
  place.style.height = values.height + "px";
  fill(place, el("p", { class: "up" }, values.y.title), plot, el("p", { class: "across" }, values.x.title));
}
