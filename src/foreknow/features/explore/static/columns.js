import { ask, body, byId, decisions, el, fill, keep, latest, scrolling, send, state, table, trouble } from "./dom.js";

const NAMES = { person: "person", identifier: "identifier", "quasi-identifier": "quasi-identifier", sensitive: "sensitive", other: "other: as it is", "": "no role" };
const HELP = {
  "": "Mondrian cuts numbers and dates into ranges and texts into sets; methods that search levels, such as fulldomain, need one of the other ways.",
  intervals: "Widths from fine to coarse, such as 5, 10, 20; each a multiple of the one before.",
  dates: "From fine to coarse: hour, day, month, quarter, year, decade, century; such as month, quarter, year.",
  mask: "How many characters can be hidden, such as 5: 02138, 0213*, 021**, ...",
  order: "The values in their order, with commas between, such as low, middle, high.",
  file: "A CSV file in the folder: value;level 1;level 2;... in each line.",
};
let found = null;

function show() {
  byId("subject").textContent = found.name;
  byId("scope").textContent = `${found.rows.toLocaleString("en")} rows, ${found.columns.length.toLocaleString("en")} columns in ${found.name}.`;
  byId("mistake").hidden = !found.mistake;
  byId("mistake").textContent = found.mistake;
  byId("decide").hidden = !found.open.length && !found.questions.length;
  fill(byId("ways"), ...decisions(found.open, decide));
  fill(byId("questions"), ...found.questions.map((said) => el("li", {}, said)));
  const head = ["Column", "Role", "Holds", "Nulls", "Examples", "Coarsens"];
  const rows = found.columns.map((column, i) => {
    const role = el("select", { id: "role-" + i, "aria-label": "Role of " + column.shown, change: (event) => settle(column, event.target.value, i) });
    fill(role, ...found.roles.map((value) => el("option", { value }, NAMES[value])));
    role.value = column.role;
    const why = column.question || column.reason || column.problem;
    const build = ["quasi-identifier", "sensitive"].includes(column.role);
    const button = build ? el("button", { type: "button", "aria-label": `Set how ${column.shown} coarsens`, click: () => choose(column.name) }, column.coarsens || "choose") : "";
    const cells = [
      el("th", { scope: "row", class: "label" }, column.shown),
      el("td", {}, role, why ? el("span", { class: "why" + (column.question ? " asks" : "") }, why) : ""),
      el("td", {}, column.problem ? "not readable" : `${column.kind}; ${column.holds}`),
      el("td", { class: "num" }, column.nulls),
      el("td", { class: "label" }, column.examples.join(", ")),
      el("td", {}, button),
    ];
    cells.forEach((cell, at) => cell.textContent && cell.setAttribute("data-head", head[at]));
    return el("tr", {}, ...cells);
  });
  const heads = head.map((title) => el("th", { scope: "col", class: title === "Nulls" ? "num" : null }, title));
  const made = el("table", { class: "roles" }, el("caption", {}, "Columns and their roles"), el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  fill(byId("columns"), el("div", {}, scrolling(made, "Columns and their roles")));
  byId("undo").disabled = !found.undo;
  byId("unit").hidden = !found.rows_are;
  if (found.rows_are) byId("rows-are").value = found.rows_are;
  const coarse = found.columns.filter((column) => ["quasi-identifier", "sensitive"].includes(column.role));
  byId("build").hidden = !coarse.length;
  const chosen = state().column;
  fill(byId("which"), ...coarse.map((column) => el("option", { value: column.name }, column.shown)));
  if (coarse.some((column) => column.name === chosen)) byId("which").value = chosen;
}

async function settle(column, role, place) {
  try {
    found = await send("/api/columns/settled", body({ column: column.name, role }));
    show();
    built();
    trouble(null);
    const again = byId("role-" + place);
    if (again) again.focus();
  } catch (error) {
    trouble(error);
  }
}

async function decide(way) {
  try {
    found = await send("/api/columns/decided", body({ way }));
    show();
    built();
    trouble(null);
    byId("undo").focus();
  } catch (error) {
    trouble(error);
  }
}

async function unit() {
  const how = byId("rows-are").value;
  const said = { unit: how === "row" ? how : null, semantics: ["set", "multiset"].includes(how) ? how : null };
  try {
    for (const [key, value] of Object.entries(said)) await send("/api/policy/settled", body({ path: ["schema", key], value }));
    await again();
  } catch (error) {
    trouble(error);
  }
}

async function again() {
  found = await ask("/api/columns", body({}));
  show();
  built();
  trouble(null);
}

function choose(name) {
  byId("which").value = name;
  built();
  byId("how").focus();
  byId("build").scrollIntoView({ block: "nearest" });
}

function current() {
  return found.columns.find((column) => column.name === byId("which").value);
}

// The form as the policy has it.
function built() {
  const column = current();
  if (!column) return;
  keep({ column: column.name });
  const given = column.hierarchy || {};
  const how = ["intervals", "dates", "mask", "order", "file"].find((key) => key in given) || "";
  byId("how").value = how;
  const setting = given[how];
  byId("setting").value = setting === undefined ? "" : Array.isArray(setting) ? setting.join(", ") : String(setting);
  look();
}

function wanted() {
  const how = byId("how").value;
  if (!how) return null;
  const text = byId("setting").value.trim();
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  const amount = (part) => (/^-?\d+$/.test(part) ? Number(part) : part);
  if (how === "intervals") return { intervals: parts.map(amount) };
  if (how === "dates" || how === "order") return { [how]: parts };
  return { [how]: how === "mask" ? amount(text) : text };
}

const preview = latest(async (column, hierarchy) => {
  const told = await send("/api/columns/preview", body({ column, hierarchy }));
  const said = byId("coverage");
  said.className = "sentence " + (told.left ? "unsafe" : "plain");
  said.textContent = told.left
    ? `${told.left.toLocaleString("en")} values have no place in it, such as ${told.missing.join(", ")}. ${told.why}`
    : `All ${told.covered.toLocaleString("en")} values${told.cut ? " that were looked at" : ""} have a place in it.`;
  fill(byId("levels"), table(told.levels, "levels", "Levels of some values"));
});

function look() {
  byId("setting-help").textContent = HELP[byId("how").value];
  byId("setting").disabled = !byId("how").value;
  const hierarchy = wanted();
  const empty = hierarchy === null || byId("setting").value.trim() === "";
  byId("keep").disabled = hierarchy !== null && empty;
  if (empty) {
    byId("coverage").textContent = "";
    byId("coverage").className = "";
    fill(byId("levels"));
    return;
  }
  preview(byId("which").value, hierarchy);
}

async function start() {
  byId("which").addEventListener("change", built);
  byId("how").addEventListener("change", () => {
    byId("setting").value = "";
    look();
  });
  byId("setting").addEventListener("input", look);
  byId("rows-are").addEventListener("change", unit);
  byId("undo").addEventListener("click", () => send("/api/policy/undone", body({})).then(again).catch(trouble));
  byId("builder").addEventListener("submit", async (event) => {
    event.preventDefault();
    const column = current();
    try {
      found = await send("/api/columns/settled", body({ column: column.name, role: column.role, hierarchy: wanted() }));
      show();
      trouble(null);
    } catch (error) {
      trouble(error);
    }
  });
  found = await ask("/api/columns", body({}));
  show();
  built();
}

start().catch((error) => {
  byId("scope").textContent = "";
  trouble(error);
});
