import { chart } from "./chart.js";
import { ask, body, byId, el, fill, keep, latest, send, state, table, trouble } from "./dom.js";

let found = null;
let begun = 0;

// ---- what was made ----------------------------------------------------------------------------

const FIRST = 2;

// What the verdict does not cover, of which the first lines are open, and what it assumes.
function limits({ notes, assumed }) {
  const list = (texts) => el("ul", { class: "said" }, ...texts.map((said) => el("li", {}, said)));
  const rest = notes.slice(FIRST);
  const titles = [rest.length ? `${rest.length} more` : "", assumed.length ? "what is assumed" : ""].filter(Boolean);
  const more = assumed.length ? [el("p", {}, "What is assumed:"), list(assumed)] : [];
  const folded = el("details", {}, el("summary", {}, "And " + titles.join(", and ")), list(rest), ...more);
  return [el("div", { class: "limits" }, el("p", {}, "What the verdicts do not cover:"), list(notes.slice(0, FIRST)), titles.length ? folded : null)];
}

function trial(each) {
  const parts = [];
  if (each.state === "made") {
    const look = el("a", { href: "/release?" + new URLSearchParams({ of: each.name }) }, "Look at it");
    const id = "folder-" + each.place;
    const writing = each.written
      ? el("span", {}, "Written to ", el("strong", {}, each.written), ".")
      : el(
          "form",
          { class: "saving", submit: (event) => write(event, each.place, id) },
          el("label", { for: id, class: "unseen" }, `New folder for release ${each.place}`),
          el("input", { type: "text", id, value: "release", autocomplete: "off", spellcheck: "false" }),
          el("button", { type: "submit" }, "Write the folder")
        );
    parts.push(el("span", { class: "word " + each.mood }, each.said), el("span", {}, each.kept), look, writing, ...limits(each));
  } else if (each.state === "running") {
    parts.push(el("span", {}, "being made"));
  } else {
    const word = { none: "No release", cancelled: "Cancelled", failed: "Failed" }[each.state];
    parts.push(el("span", { class: "word unsafe" }, word), ...each.why.map((said) => el("p", { class: "said" }, said)));
  }
  const title = each.state === "running" ? each.title : `${each.title}, ${each.seconds}\u00a0s`;
  return el("li", {}, el("strong", { class: "kind" }, title), el("div", { class: "parts" }, ...parts));
}

function sides() {
  const made = found.trials.filter((each) => each.state === "made");
  const newest = Math.max(...made.map((each) => each.place));
  byId("side").hidden = !made.length;
  if (!made.length) return;
  const options = () => [["0", found.before], ...made.map((each) => [String(each.place), each.title])].map(([value, text]) => el("option", { value }, text));
  const given = state();
  const has = (value) => value === "0" || made.some((each) => String(each.place) === value);
  fill(byId("a"), ...options());
  fill(byId("b"), ...options());
  byId("a").value = has(given.a) ? given.a : "0";
  byId("b").value = has(given.b) ? given.b : String(newest);
  compare();
}

const compared = latest(async (a, b) => {
  const told = await ask("/api/publish/compared", body({ a, b }));
  fill(byId("compared"), table(told.table, "sided", "Side by side"));
  const people = told.people[1] || told.people[0];
  byId("people-title").hidden = !people;
  fill(byId("people"), people ? table(people, "ranks rows", "Some people, before and after") : "");
  ["a", "b"].forEach((side, i) => {
    byId(`sizes-${side}-title`).textContent = "Group sizes of " + told.titles[i];
    chart(byId("sizes-" + side), told.sizes[i].chart);
  });
});

function compare() {
  compared(byId("a").value, byId("b").value);
}

async function write(event, place, id) {
  event.preventDefault();
  try {
    show(await send("/api/publish/write", body({ trial: String(place), folder: byId(id).value.trim() })));
    trouble(null);
  } catch (error) {
    trouble(error);
  }
}

// ---- making -----------------------------------------------------------------------------------

function show(told) {
  const before = found.trials.length + ":" + found.trials.map((each) => each.state + each.written).join();
  Object.assign(found, told);
  const after = found.trials.length + ":" + found.trials.map((each) => each.state + each.written).join();
  byId("start").disabled = found.running || Boolean(found.mistake);
  byId("cancel").hidden = !found.running;
  const progress = byId("progress");
  progress.hidden = !found.running;
  const seconds = Math.round((Date.now() - begun) / 1000);
  progress.textContent = found.running ? `${found.said || "Starting a process"} … ${seconds} s` : "";
  byId("made").hidden = !found.trials.length;
  if (before === after && byId("trials").children.length) return;
  list();
  sides();
}

function list() {
  fill(byId("trials"), el("ul", { class: "open" }, ...found.trials.map(trial)));
}

// ---- what matters most --------------------------------------------------------------------------

const AMOUNTS = [0.1, 0.25, 0.5, 1, 2, 4, 8];

function weight(column, i) {
  const own = found.weights[column] === undefined ? 1 : found.weights[column];
  const nearest = AMOUNTS.reduce((best, each, at) => (Math.abs(each - own) < Math.abs(AMOUNTS[best] - own) ? at : best), 0);
  const id = "weight-" + i;
  const said = el("output", { for: id }, "× " + own);
  const slider = el("input", { type: "range", id, min: 0, max: AMOUNTS.length - 1, step: 1, value: nearest });
  slider.addEventListener("input", () => (said.textContent = "× " + AMOUNTS[slider.value]));
  slider.addEventListener("change", () => weigh(column, AMOUNTS[slider.value]));
  return el("p", { class: "dial" }, el("label", { for: id }, column), slider, said);
}

async function weigh(column, amount) {
  try {
    await send("/api/policy/settled", body({ path: ["publish", "weights", column], value: amount === 1 ? null : String(amount), number: true }));
    Object.assign(found, await ask("/api/publish/state", body({})));
    list();
    trouble(null);
  } catch (error) {
    trouble(error);
  }
}

async function follow() {
  while (found.running) {
    await new Promise((done) => setTimeout(done, 400));
    show(await ask("/api/publish/state", body({})));
  }
}

function about() {
  const own = found.methods.find((each) => each.key === byId("method").value);
  const settings = own && own.settings.length ? ` Settings: ${own.settings.join(", ")}; such as ${own.settings[0]} = ...` : "";
  byId("about").textContent = own ? own.about + settings : "";
  keep({ method: byId("method").value, form: byId("form").value });
}

async function begin(event) {
  event.preventDefault();
  try {
    begun = Date.now();
    keep({ a: null, b: null });
    show(await send("/api/publish/start", body({ method: byId("method").value, form: byId("form").value, settings: byId("settings").value })));
    trouble(null);
    await follow();
  } catch (error) {
    trouble(error);
  }
}

async function start() {
  const given = state();
  found = await ask("/api/publish", body({}));
  byId("subject").textContent = found.name;
  byId("scope").textContent = `By the policy for ${found.name}. You can use the other views meanwhile.`;
  fill(byId("method"), ...found.methods.map((each) => el("option", { value: each.key }, each.key)));
  byId("method").value = found.methods.some((each) => each.key === given.method) ? given.method : found.method;
  byId("form").value = given.form === undefined ? found.form : given.form;
  byId("weighed").hidden = found.columns.length < 2;
  fill(byId("weights"), ...found.columns.map(weight));
  if (found.mistake) trouble(new Error(found.mistake));
  byId("method").addEventListener("change", about);
  byId("form").addEventListener("change", about);
  byId("order").addEventListener("submit", begin);
  byId("cancel").addEventListener("click", async () => {
    try {
      show(await send("/api/publish/cancel", body({})));
    } catch (error) {
      trouble(error);
    }
  });
  for (const side of ["a", "b"]) {
    byId(side).addEventListener("change", () => {
      keep({ [side]: byId(side).value });
      compare();
    });
  }
  about();
  begun = Date.now();
  show({});
  await follow();
}

start().catch((error) => {
  byId("scope").textContent = "";
  trouble(error);
});
