import { ask, blocks, body, byId, decisions, el, fill, keep, latest, send, state, table, trouble } from "./dom.js";
import { chart, heatMap } from "./chart.js";

const AMOUNTS = ["l", "k", "m"];
let found = null;
let dial = null;

// ---- what is said before anything is turned --------------------------------------------------

function show() {
  document.title = `${found.headline} – ${found.name}`;
  byId("subject").textContent = found.name;
  byId("banner").className = "verdict " + found.mood;
  fill(byId("eyebrow"), found.published ? "Privacy audit of " : "Privacy audit of the table as it is, ", el("strong", {}, found.name));
  const sign = { safe: "✓", unsafe: "✗" }[found.mood];
  fill(byId("headline"), sign ? el("span", { class: "sign", "aria-hidden": "true" }, sign) : "", found.headline);
  byId("scope").textContent = found.scope;
  for (const list of ["notes", "assumed"]) {
    byId(list).hidden = !found[list].length;
    fill(byId(list).querySelector("ul"), ...found[list].map((said) => el("li", {}, said)));
  }
  fill(byId("verdicts"), ...blocks(found.blocks));
  chart(byId("sizes"), found.sizes.chart);
  byId("nameless").hidden = found.names;
  byId("ask").hidden = !found.names;
}

// ---- dials -----------------------------------------------------------------------------------

function options(select, list, chosen) {
  fill(select, ...list.map(([value, text]) => el("option", { value }, text)));
  select.value = list.some(([value]) => value === chosen) ? chosen : list[0][0];
}

function choose(place) {
  dial = found.dials.find((each) => String(each.place) === place) || found.dials[0];
  const all = dial.values.length === 1 ? [] : [["", dial.about]];
  options(byId("value"), [...all, ...dial.values.map((value) => [value, value])], state().value || "");
  AMOUNTS.forEach((name, i) => {
    byId(name + "-label").textContent = dial.axes[i];
    byId(name).max = dial.tops[name];
  });
  byId("legend").textContent = dial.legend;
}

function place(given) {
  for (const name of AMOUNTS) {
    const amount = given[name] === undefined ? dial.start[name] : given[name];
    byId(name).max = Math.max(dial.tops[name], Number(amount) || 0);
    byId(name).value = amount;
  }
  limited(given.limit === undefined ? dial.start.limit : given.limit);
}

function fraction(text) {
  const [above, below] = text.replace("%", "/100").split("/");
  return Number(above) / (below === undefined ? 1 : Number(below));
}

function limited(text) {
  byId("limit-text").value = text;
  const share = fraction(text);
  if (share > 0 && share <= 1) byId("limit").value = Math.round(100 * share);
}

function standing() {
  const given = { requirement: String(dial.place), value: byId("value").value, limit: byId("limit-text").value.trim() };
  for (const name of AMOUNTS) given[name] = byId(name).value;
  return given;
}

const judge = latest(async (given) => {
  byId("said").classList.add("waiting");
  const told = await ask("/api/release/judged", body(given));
  const said = byId("said");
  said.className = "sentence " + told.mood;
  fill(said, told.sentence, told.mood === "unsafe" ? " " + told.exposed : "");
  fill(byId("exposed"), table(told.counts, "ranks", "People over the limit"));
  byId("over").hidden = !told.groups.rows.length;
  fill(byId("groups"), table(told.groups, "groups", "Groups over the limit"));
});

const climb = latest(async (given) => {
  const section = byId("skyline");
  if (!given.value) {
    section.hidden = !dial.values.length;
    byId("least").textContent = "Choose one value above to see its skyline.";
    section.querySelector(".pair").hidden = true;
    byId("skyline-title").textContent = "What the release withstands";
    return;
  }
  const asked = { requirement: given.requirement, value: given.value, limit: given.limit };
  const told = await ask("/api/release/skyline", body(asked));
  section.hidden = false;
  byId("skyline-title").textContent = told.title;
  byId("least").textContent = told.least;
  section.querySelector(".pair").hidden = !told.figure;
  if (!told.figure) return;
  const rows = told.points.map((point, i) =>
    el(
      "tr",
      {},
      ...point.map((amount) => el("td", { class: "num amount" }, String(amount))),
      el("td", {}, told.words[i]),
      el("td", {}, el("button", { type: "button", "aria-label": `Put the dials at l ${point[0]}, k ${point[1]}, m ${point[2]}`, click: () => goTo(point) }, "Set"))
    )
  );
  const head = ["l", "k", "m"].map((name) => el("th", { scope: "col", class: "num" }, name));
  fill(
    byId("points"),
    el(
      "table",
      { class: "points" },
      el("thead", {}, el("tr", {}, ...head, el("th", { scope: "col" }, "Withstands"), el("th", { scope: "col" }, "Dials"))),
      el("tbody", {}, ...rows)
    )
  );
  heatMap(byId("heat"), told.figure.heat, goTo);
  byId("heat-caption").textContent = `${told.figure.caption} Click one to put the dials there.`;
});

function goTo(point) {
  place({ ...standing(), l: point[0], k: point[1], m: point[2] });
  turn(false);
  byId("said").scrollIntoView({ block: "nearest" });
}

let climbed = "";

function turn(anew) {
  for (const name of AMOUNTS) byId(name + "-said").textContent = byId(name).value;
  const given = standing();
  keep(given);
  judge(given);
  const about = [given.requirement, given.value, given.limit].join("\n");
  if (anew || about !== climbed) climb(given);
  climbed = about;
}

function wire() {
  for (const name of AMOUNTS) byId(name).addEventListener("input", () => turn(false));
  byId("limit").addEventListener("input", () => {
    byId("limit-text").value = String(Number(byId("limit").value) / 100);
    turn(false);
  });
  byId("limit-text").addEventListener("change", () => {
    limited(byId("limit-text").value.trim());
    turn(false);
  });
  byId("value").addEventListener("change", () => turn(false));
  byId("requirement").addEventListener("change", () => {
    choose(byId("requirement").value);
    place({});
    turn(true);
  });
  byId("reset").addEventListener("click", () => {
    place({});
    turn(false);
  });
  byId("dials").addEventListener("submit", (event) => event.preventDefault());
}

async function rows() {
  try {
    const told = await ask("/api/release/rows", body({}));
    fill(byId("rows"), ...told.flatMap((each) => [el("h3", {}, `${each.title}: the first ${each.rows.length} of ${each.many} rows`), table(each, "ranks rows", each.title)]));
  } catch (error) {
    trouble(error);
  }
}

// ---- what if they knew ... --------------------------------------------------------------------

async function asked(event) {
  event.preventDefault();
  const given = { about: byId("about").value, statements: byId("statements").value };
  const place = byId("answers");
  place.classList.add("waiting");
  try {
    const told = await send("/api/release/asked", body(given));
    fill(place, table(told.answers, "ranks", "How sure they can be of " + told.person + (told.unknown ? ", if they know nobody's " + told.unknown : "")));
  } catch (error) {
    fill(place, el("p", { class: "sentence unsafe mono" }, error.message));
  }
  place.classList.remove("waiting");
}

// ---- begin ------------------------------------------------------------------------------------

async function start() {
  found = await ask("/api/release", body({}));
  show();
  byId("ask").addEventListener("submit", asked);
  byId("look").addEventListener("click", rows);
  wire();
  if (!found.dials.length) return;
  byId("turn").hidden = false;
  options(byId("requirement"), found.dials.map((each) => [String(each.place), `${each.title}: ${each.about}`]), state().requirement);
  choose(byId("requirement").value);
  place(state());
  turn(true);
}

// Where nothing can be judged: the ways out, and no empty parts.
async function refused(error) {
  byId("headline").textContent = "Nothing is judged yet";
  byId("scope").textContent = "";
  for (const section of document.querySelectorAll("main > section")) section.hidden = true;
  trouble(error);
  let policy;
  try {
    policy = await ask("/api/columns", body({}));
  } catch {
    return; // a release has the policy of its certificate
  }
  byId("subject").textContent = policy.name;
  const took = (path, given) => send(path, body(given)).then(() => location.reload(), trouble);
  fill(byId("ways"), ...decisions(policy.open, (way) => took("/api/columns/decided", { way })));
  byId("undo").hidden = !policy.undo;
  byId("undo").addEventListener("click", () => took("/api/policy/undone", {}));
  const { of } = state();
  byId("mend").addEventListener("click", () => location.assign("/policy" + (of ? "?" + new URLSearchParams({ of }) : "")));
  byId("why").hidden = !policy.open.length;
  byId("refused").hidden = false;
  if (!policy.open.length) return;
  byId("why-said").textContent = error.message;
  trouble(null);
}

start().catch(refused);
