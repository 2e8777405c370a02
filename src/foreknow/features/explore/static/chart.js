// Charts of bars and heat maps as the report draws them.
import { el, fill } from "./dom.js";

function svg(tag, props, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// A place along an axis, in percents.
function along(axis, value) {
  return (100 * (value - axis.low)) / (axis.high - axis.low);
}

function bar({ x, y }, each) {
  const [start, height] = [along(x, each.start), along(y, each.height)];
  const made = svg("rect", { x: start + "%", width: along(x, each.end) - start + "%", y: 100 - height + "%", height: height + "%", fill: each.color });
  made.append(svg("title", {}, each.text));
  return made;
}

export function chart(place, values) {
  const plot = svg("svg", {});
  for (const [at, text] of values.y.ticks) {
    const top = 100 - along(values.y, at) + "%";
    plot.append(svg("line", { class: "grid", x2: "100%", y1: top, y2: top }));
    plot.append(svg("text", { class: "tick", x: "-8", y: top, dy: ".35em", "text-anchor": "end" }, text));
  }
  for (const [at, text] of values.x.ticks) {
    plot.append(svg("text", { class: "tick", x: along(values.x, at) + "%", y: "100%", dy: "1.4em", "text-anchor": "middle" }, text));
  }
  plot.append(...values.bars.map((each) => bar(values, each)));
  plot.append(svg("line", { class: "axis", x2: "100%", y1: "100%", y2: "100%" }));
  place.classList.add("chart");
  place.style.setProperty("--beside", values.margin + "ch");
  place.style.height = values.height + "px";
  fill(place, el("p", { class: "up" }, values.y.title), plot, el("p", { class: "across" }, values.x.title));
}

function square(values, each, row, column, choose) {
  const top = values.high * (values.rows.length - 1 - row) + 2;
  const made = svg("rect", { class: each.inside ? "held" : "over", x: values.beside + values.wide * column, y: top, width: values.wide - 1, height: values.high - 1, "fill-opacity": 0.08 + 0.77 * each.share });
  made.dataset.at = each.at.join(",");
  made.append(svg("title", {}, each.text));
  made.addEventListener("click", () => choose(each.at));
  return made;
}

function panel(values, own, choose) {
  const [wide, high] = values.size;
  const plot = svg("svg", { role: "img", "aria-label": own.title, viewBox: `0 -18 ${wide} ${high + 36}`, width: wide, height: high + 36 });
  plot.append(svg("text", { class: "own", x: values.beside, y: -5 }, own.title));
  own.rows.forEach((row, i) => {
    const middle = values.high * (values.rows.length - 0.5 - i) + 2;
    plot.append(svg("text", { x: values.beside - 5, y: middle, dy: ".35em", "text-anchor": "end" }, values.rows[i]));
    plot.append(...row.map((each, j) => square(values, each, i, j, choose)));
  });
  values.columns.forEach((text, j) => plot.append(svg("text", { x: values.beside + values.wide * (j + 0.5), y: values.high * values.rows.length + 17, "text-anchor": "middle" }, text)));
  if (own.edge) plot.append(svg("path", { class: "edge", d: own.edge }));
  plot.append(svg("text", { x: wide - 2, y: high + 14, "text-anchor": "end" }, values.across));
  return plot;
}

// A square that is clicked is chosen by its amounts.
export function heatMap(place, values, choose) {
  fill(place, ...values.panels.map((own) => panel(values, own, choose)));
}
