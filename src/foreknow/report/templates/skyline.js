"use strict";
(function () {
  const config = { displayModeBar: false, responsive: true, scrollZoom: false };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const sections = Array.from(document.querySelectorAll("section.value"));
  const picker = document.querySelector(".picker");
  let shown = null;

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function hoverBox() {
    const font = { color: color("--ink"), size: 13 };
    return { align: "left", bgcolor: color("--page"), bordercolor: color("--ink-soft"), font };
  }

  function amount(number, things) {
    if (number === 0) return "no " + things[1];
    return number === 1 ? "one " + things[0] : number + " " + things[1];
  }

  // The corners of the stairs below some points of a plane, from left to right.
  function corners(points) {
    const kept = [];
    for (const point of points.slice().sort((a, b) => b.x - a.x || b.y - a.y)) {
      if (!kept.length || point.y > kept[kept.length - 1].y) kept.push(point);
    }
    return kept.reverse();
  }

  function open(section) {
    const script = section.querySelector("script.data");
    if (!script) return null;
    const stage = section.querySelector(".stage");
    stage.hidden = false;
    return {
      data: JSON.parse(script.textContent),
      solid: stage.querySelector(".solid"),
      slice: stage.querySelector(".slice"),
      held: stage.querySelector(".held"),
      amount: stage.querySelector(".amount"),
      said: stage.querySelector("output"),
    };
  }

  function drawSolid(view) {
    const { data, layout } = structuredClone(view.data.solid);
    const ink = color("--ink-soft");
    layout.font.color = ink;
    layout.hoverlabel = hoverBox();
    layout.height = view.solid.clientWidth < 480 ? 360 : layout.height;
    for (const name of ["xaxis", "yaxis", "zaxis"]) {
      Object.assign(layout.scene[name], { color: ink, gridcolor: color("--line"), linecolor: ink });
      layout.scene[name].title.font.size = view.solid.clientWidth < 480 ? 11 : 13;
    }
    Plotly.react(view.solid, data, layout, config);
  }

  function drawSlice(view) {
    const { points, axes, things, floor } = view.data;
    const texts = view.data.solid.data[view.data.solid.data.length - 1].text;
    const held = Number(view.held.value);
    const [x, y] = [[1, 2], [2, 0], [1, 0]][held];
    const most = Math.max(...points.map((point) => point[held]));
    view.amount.max = most;
    view.amount.disabled = most === 0;
    const at = Math.min(Number(view.amount.value), most);
    view.amount.value = at;
    view.said.textContent = amount(at, things[held]);
    view.amount.setAttribute("aria-valuetext", view.said.textContent);

    const within = points
      .map((point, i) => ({ x: point[x], y: point[y], own: point[held] === at, text: texts[i] }))
      .filter((point, i) => points[i][held] >= at);
    const stairs = corners(within);
    const tops = [x, y].map((axis) => Math.max(1, ...points.map((point) => point[axis])));
    const ends = tops.map((top) => top + Math.max(1, top / 8));
    const outline = { x: [floor[x]], y: [stairs[0].y] };
    stairs.forEach((corner, i) => {
      const below = i + 1 < stairs.length ? stairs[i + 1].y : floor[y];
      outline.x.push(corner.x, corner.x);
      outline.y.push(corner.y, below);
    });
    const said = stairs.map((corner) =>
      corner.own
        ? corner.text
        : `Withstands ${amount(corner.x, things[x])} and ${amount(corner.y, things[y])}<br>` +
          `with ${amount(at, things[held])}, and even with some more of these.`
    );
    const ink = color("--ink-soft");
    const axis = (name, number) => ({
      title: { text: axes[name], font: { size: 13 }, standoff: 10 },
      range: [floor[name], ends[number]],
      tickvals: view.data.solid.layout.scene[["zaxis", "xaxis", "yaxis"][name]].tickvals,
      gridcolor: color("--line"),
      linecolor: ink,
      zeroline: false,
      fixedrange: true,
      automargin: true,
    });
    const note = (text, place, ink) => ({
      text,
      ...place,
      showarrow: false,
      font: { size: 13, color: ink },
    });
    Plotly.react(
      view.slice,
      [
        {
          x: [floor[x], ...outline.x],
          y: [floor[y], ...outline.y],
          fill: "toself",
          fillcolor: "rgba(63,136,220,0.35)",
          mode: "lines",
          line: { width: 0 },
          hoverinfo: "skip",
        },
        {
          x: outline.x,
          y: outline.y,
          mode: "lines",
          line: { color: "#3f88dc", width: 3 },
          hoverinfo: "skip",
        },
        {
          x: stairs.map((corner) => corner.x),
          y: stairs.map((corner) => corner.y),
          text: said,
          mode: "markers",
          marker: {
            symbol: stairs.map((corner) => (corner.own ? "diamond" : "circle")),
            size: stairs.map((corner) => (corner.own ? 13 : 9) * (stairs.length > 40 ? 0.4 : 1)),
            color: stairs.map((corner) => (corner.own ? "#e07b16" : "#3f88dc")),
            line: { color: "#ffffff", width: stairs.length > 40 ? 0 : 1 },
            opacity: 1,
          },
          hovertemplate: "%{text}<extra></extra>",
          cliponaxis: false,
        },
      ],
      {
        template: "none",
        height: 340,
        margin: { l: 10, r: 16, t: 10, b: 10 },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: "system-ui, sans-serif", size: 13, color: ink },
        xaxis: axis(x, 0),
        yaxis: axis(y, 1),
        hovermode: "closest",
        hoverlabel: hoverBox(),
        dragmode: false,
        showlegend: false,
        annotations: [
          note(
            "withstood",
            { x: 0, y: 0, xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom", xshift: 16, yshift: 8 },
            color("--ink")
          ),
          note(
            "not withstood",
            { x: 1, y: 1, xref: "paper", yref: "paper", xanchor: "right", yanchor: "top" },
            ink
          ),
        ],
      },
      config
    );
  }

  function draw() {
    if (!shown) return;
    drawSolid(shown);
    drawSlice(shown);
  }

  function show(section) {
    if (shown) [shown.solid, shown.slice].forEach((place) => Plotly.purge(place));
    sections.forEach((other) => (other.hidden = other !== section));
    if (picker) picker.querySelector("select").value = section.id;
    shown = open(section);
    if (shown && !section.dataset.ready) {
      const view = shown;
      view.amount.value = 0;
      view.held.addEventListener("change", () => {
        shown.amount.value = 0;
        drawSlice(shown);
      });
      view.amount.addEventListener("input", () => drawSlice(shown));
      section.dataset.ready = "yes";
    }
    draw();
  }

  function asked() {
    return sections.find((section) => "#" + section.id === location.hash);
  }

  if (picker) {
    picker.hidden = false;
    picker.querySelector("select").addEventListener("change", (event) => {
      history.replaceState(null, "", "#" + event.target.value);
      show(asked());
    });
  }
  window.addEventListener("hashchange", () => {
    const section = asked();
    if (!section) return;
    show(section);
    section.scrollIntoView();
  });
  dark.addEventListener("change", draw);
  show(asked() || sections.find((section) => section.querySelector("script.data")) || sections[0]);

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => closed.forEach((details) => (details.open = false)));
})();
