import { ask, body, byId, el, fill, send, state, trouble } from "./dom.js";

let found = null;
let typing = 0;
// What a requirement is to be about, by its place, until somebody says which values, or columns.
const asked = {};

// One change after the other, each of what the one before it left; `given` is asked then.
let changes = Promise.resolve();

function change(path, given) {
  changes = changes.then(() => changed(path, given())).then(() => trouble(null), trouble);
}

async function changed(path, given) {
  found = await send(path, body(given));
  for (const key of Object.keys(asked)) if (path !== "/api/policy/settled") delete asked[key];
  show();
}

function set(path, value, number) {
  change("/api/policy/settled", () => ({ path, value: typeof value === "function" ? value() : value, number: Boolean(number) }));
}

// ---- the form ---------------------------------------------------------------------------------

function wrong(path) {
  const own = found.mistake ? found.mistake.path : [];
  return own.length > 0 && path.length >= own.length && own.every((part, i) => path[i] === part);
}

// Whether the mistake is in a key below.
function inside(path) {
  const own = found.mistake ? found.mistake.path : [];
  return path.every((part, i) => own[i] === part);
}

function field(path, title, value, options) {
  const id = "field-" + path.join("-");
  const props = { id, autocomplete: "off", spellcheck: "false" };
  if (wrong(path)) Object.assign(props, { "aria-invalid": "true", "aria-describedby": "mistake-said" });
  let input;
  if (options && options.choices) {
    input = el("select", props, ...options.choices.map(([key, text]) => el("option", { value: key }, text)));
    input.value = value;
  } else {
    input = el("input", { type: "text", value, ...props });
  }
  input.addEventListener("change", () => {
    const text = input.value.trim();
    if (options && options.list) {
      const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
      set(path, parts.length ? parts : null);
    } else if (options && options.turn) {
      options.turn(text);
    } else {
      set(path, text === "" ? null : text, options && options.number);
    }
  });
  return el("p", { class: options && options.long ? "field long" : "field" }, el("label", { for: id }, title), input);
}

function requirement(own, place) {
  const path = ["require", place];
  // Anything that the form cannot say stays as the file has it.
  const known = found.kinds.find(({ key }) => key in own && !Array.isArray(own[key]));
  const fields = [];
  const kinds = found.kinds.map(({ key }) => [key, key.replaceAll("_", " ")]);
  fields.push(
    field([...path, "kind"], "Someone who knows, or a criterion", known ? known.key : "", {
      choices: known ? kinds : [["", "as the file says"], ...kinds],
      turn: (key) => set(path, () => turned(found.table.require[place], known, key)),
    })
  );
  for (const { key, about, choices } of known ? known.fields : []) {
    const at = key ? [...path, known.key, key] : [...path, known.key];
    const value = key ? own[known.key][key] : own[known.key];
    const options = choices.length ? { choices: [["", "–"], ...choices.map((each) => [each, each])] } : { number: true };
    fields.push(field(at, [key, about].filter(Boolean).join(": "), plain(value), options));
  }
  if (known && known.limited) {
    const key = found.limits.find((each) => each in own) || "below";
    const title = key === "below" ? "must stay below" : key.replaceAll("_", " ");
    fields.push(field([...path, key], title, plain(own[key]), { number: true }));
    fields.push(...secret(own, path), ...sight(own, path));
  }
  const hidden = [].concat((found.table.schema && found.table.schema.sensitive) || []);
  if (hidden.length > 1 || own.sensitive) {
    fields.push(field([...path, "sensitive"], "in the column", own.sensitive || "", { choices: [["", "–"], ...hidden.map((each) => [each, each])] }));
  }
  const bad = wrong(path) || inside(path);
  const said = bad ? el("p", { class: "why asks" }, found.mistake.said) : null;
  const remove = el("button", { type: "button", id: "remove-" + place, "aria-label": `Remove requirement ${place + 1}`, click: () => set(path, null) }, "Remove");
  return el("fieldset", { class: bad ? "bad" : null }, el("legend", {}, own.name || `Requirement ${place + 1}`), said, el("div", { class: "fields" }, ...fields), remove);
}

const SECRETS = [
  ["", "each value by itself"],
  ["values", "only these values"],
  ["except", "all values but these"],
  ["any_of", "any one of these, as one secret"],
  ["at_level", "each set of a level of the hierarchy"],
  ["within", "a number, to within so much"],
];
const STARTS = { at_level: 1, within: "10%" };
const simple = (list) => Array.isArray(list) && list.every((each) => typeof each === "string" && !each.includes(","));

// A choice of which the form asks more before it is in the policy.
function chooser(path, key, title, value, choices, turn) {
  const id = [...path, key].join(" ");
  const options = {
    choices,
    long: true,
    turn: (chosen) => {
      asked[id] = chosen;
      turn(chosen);
      show();
    },
  };
  return [field([...path, key], title, id in asked ? asked[id] : value, options), id in asked ? asked[id] : value];
}

// What must stay hidden: which values, and whether each by itself.
function secret(own, path) {
  const key = found.secret.find((each) => each in own) || "";
  const without = (made) => Object.fromEntries(Object.entries(found.table.require[path[1]]).filter(([name]) => !found.secret.includes(name)).concat(made));
  const [choice, now] = chooser(path, "secret", "what must stay hidden", key, SECRETS, (chosen) => set(path, () => without(chosen in STARTS ? [[chosen, STARTS[chosen]]] : [])));
  if (!now) return [choice];
  const title = { at_level: "level, from 1", within: "such as 5000 or 10%" }[now] || "with commas between";
  if (now in STARTS) return [choice, field([...path, now], title, plain(own[now]), { number: true })];
  if (now in own && !simple(own[now])) return [choice, el("p", { class: "note" }, `${now}: as the file has it`)];
  return [choice, field([...path, now], title, (own[now] || []).join(", "), { list: true, long: true })];
}

// Which columns others know, where some stand beside the value.
function sight(own, path) {
  const { sensitive, other } = found.table.schema || {};
  const all = [].concat(sensitive || [], other || []);
  const beside = all.filter((name) => name !== (own.sensitive || all[0]));
  if (!beside.length) return [];
  const has = own.knowing === undefined ? "" : own.knowing.length ? "some" : "none";
  const choices = [["", "every column published beside it"], ["none", "none of them"], ["some", "these columns"]];
  const [choice, now] = chooser(path, "known", "others know of everybody", has, choices, (chosen) => set([...path, "knowing"], chosen === "some" ? beside : chosen === "none" ? [] : null));
  if (now !== "some") return [choice];
  return [choice, field([...path, "knowing"], "with commas between", (own.knowing || []).join(", "), { list: true, long: true })];
}

// ---- what cannot be -----------------------------------------------------------------------------

const RULE = ["rule-values", "rule-column", "rule-where"];
const amount = (text) => (/^-?\d+$/.test(text) ? Number(text) : text);

// Values with commas between, or a range: "from 12", "to 11", "from 12 to 50".
function read(text) {
  const range = /^(?:from (\S+))?\s*(?:to (\S+))?$/.exec(text);
  if (!text || !range) return text.split(",").map((part) => part.trim()).filter(Boolean);
  return Object.fromEntries([["from", range[1]], ["to", range[2]]].filter(([, end]) => end).map(([key, end]) => [key, amount(end)]));
}

function said(given) {
  if (Array.isArray(given)) return given.join(", ");
  return ["from", "to"].filter((key) => key in (given || {})).map((key) => `${key} ${given[key]}`).join(" ");
}

function rule(own, place) {
  const path = ["schema", "impossible", place];
  const where = Object.entries(own.where || {});
  const fields = [field([...path, "values"], "these values", (own.values || []).join(", "), { list: true })];
  for (const [column, given] of where) {
    fields.push(field([...path, "where", column], `nobody has whose ${column} is`, said(given), { turn: (text) => set([...path, "where", column], text ? read(text) : null) }));
  }
  const remove = el("button", { type: "button", id: "possible-" + place, "aria-label": `Remove rule ${place + 1}`, click: () => set(path, null) }, "Remove");
  return el("div", {}, el("div", { class: "fields" }, ...fields), remove);
}

function impossible(schema) {
  const rules = Array.isArray(schema.impossible) ? schema.impossible : [];
  const columns = [].concat(schema.quasi_identifiers || [], schema.other || []);
  const values = el("input", { type: "text", id: "rule-values", autocomplete: "off", spellcheck: "false", placeholder: "O04, O80*" });
  const column = el("select", { id: "rule-column" }, ...columns.map((name) => el("option", { value: name }, name)));
  const where = el("input", { type: "text", id: "rule-where", autocomplete: "off", spellcheck: "false", placeholder: "m, or: to 11" });
  const add = () => {
    if (!values.value.trim() || !where.value.trim()) return;
    const made = { values: values.value.split(",").map((part) => part.trim()).filter(Boolean), where: { [column.value]: read(where.value.trim()) } };
    values.value = where.value = "";
    set(["schema", "impossible"], [...rules, made]);
  };
  const fresh = [["rule-values", "these values", values], ["rule-column", "nobody has whose", column], ["rule-where", "is one of, or in a range", where]];
  return el(
    "fieldset",
    { class: wrong(["schema", "impossible"]) || (found.mistake && inside(["schema", "impossible"])) ? "bad" : null },
    el("legend", {}, "What cannot be"),
    el("p", { class: "note" }, "Who cannot have a value is not counted among those who might."),
    ...rules.map(rule),
    el("div", { class: "fields" }, ...fresh.map(([id, title, input]) => el("p", { class: "field" }, el("label", { for: id }, title), input))),
    el("button", { type: "button", id: "rule-add", click: add }, "Add a rule")
  );
}

function plain(value) {
  return value === undefined || value === null ? "" : String(value);
}

// The same requirement with another kind of knowledge, or a criterion, which takes no limit.
function turned(own, before, after) {
  const made = { ...own };
  if (before) delete made[before.key];
  const { usual, limited } = found.kinds.find(({ key }) => key === after);
  made[after] = usual;
  if (limited) {
    if (!("below" in made)) made.below = 0.5;
  } else {
    for (const key of [...found.limits, "values", "except"]) delete made[key];
  }
  return made;
}

function form() {
  if (found.broken) return [el("p", { class: "note" }, "The form shows the file again once it is valid TOML.")];
  const schema = found.table.schema || {};
  const list = (given) => (Array.isArray(given) ? given : given === undefined ? [] : [given]).join(", ") || "–";
  const { of } = state();
  const columns = el(
    "fieldset",
    {},
    el("legend", {}, "Columns"),
    el(
      "dl",
      {},
      ...[["Person", schema.person], ["Sensitive", schema.sensitive], ["Known to others", schema.quasi_identifiers], ["Never published", schema.identifiers], ["As they are", schema.other]].map(
        ([title, given]) => el("div", {}, el("dt", {}, title), el("dd", {}, list(given)))
      )
    ),
    el("a", { href: "/columns" + (of ? "?" + new URLSearchParams({ of }) : "") }, "Change them in Columns")
  );
  const required = Array.isArray(found.table.require) ? found.table.require : [];
  const add = el("p", {}, el("button", { type: "button", id: "add", click: () => set(["require", required.length], { facts: { l: 1, k: 3, m: 1 }, below: 0.5 }) }, "Add a requirement"));
  const publish = found.table.publish || {};
  const method = field(["publish", "method"], "Method", publish.method || "mondrian", { choices: found.methods.map((key) => [key, key]) });
  const shape = field(["publish", "form"], "Form", publish.form || "", { choices: [["", "as suits the method"], ["generalized", "one table, coarser"], ["bucketized", "exact, and a table of counts"]] });
  return [columns, impossible(schema), ...required.map(requirement), add, el("fieldset", {}, el("legend", {}, "Publish"), el("div", { class: "fields" }, method, shape))];
}

// Somebody who has reached a field meanwhile stays in it, at the same letter; a rule half said stays.
function drawn(at) {
  const within = byId("form").contains(at);
  const rule = RULE.map((id) => byId(id) && byId(id).value);
  fill(byId("form"), ...form());
  RULE.forEach((id, i) => byId(id) && rule[i] && (byId(id).value = rule[i]));
  const again = within && byId(at.id);
  if (!again) return;
  again.focus();
  if (at.type === "text" && again.type === "text") again.setSelectionRange(at.selectionStart, at.selectionEnd);
}

// ---- both -------------------------------------------------------------------------------------

function show() {
  byId("subject").textContent = found.name;
  byId("scope").textContent = found.file ? `${found.file}, for ${found.name}.` : `Suggested for ${found.name}; not written yet.`;
  const text = byId("text");
  if (text.value !== found.text && !typing) text.value = found.text;
  if (document.activeElement !== byId("file")) byId("file").value = byId("file").value || found.file || "policy.toml";
  const mistake = found.mistake;
  byId("mistake").hidden = !mistake;
  byId("mistake-said").textContent = mistake ? (mistake.line ? `Line ${mistake.line}: ` : "") + mistake.said : "";
  byId("mistake-go").hidden = !(mistake && mistake.line);
  if (mistake) text.setAttribute("aria-invalid", "true");
  else text.removeAttribute("aria-invalid");
  const at = document.activeElement;
  // What is being typed is not replaced: once it is done, it comes with the next change.
  if (!(byId("form").contains(at) && at.type === "text" && at.value !== at.defaultValue)) drawn(at);
  fill(byId("words"), found.words.length ? words() : el("p", { class: "note" }, "Once it has no mistake."));
  byId("undo").disabled = !found.undo;
  const others = found.files.filter((name) => name !== found.file);
  byId("take").hidden = !others.length || (state().of || "").endsWith(".toml");
  fill(byId("files"), ...["", ...others].map((name) => el("option", { value: name }, name || "–")));
}

function words() {
  const rows = found.words.map(({ title, lines }) => el("tr", {}, el("th", { scope: "row" }, title), el("td", {}, ...lines.map((line) => el("p", {}, line)))));
  return el("table", { class: "policy" }, el("caption", {}, "The policy in words"), el("tbody", {}, ...rows));
}

function goThere() {
  const text = byId("text");
  const lines = text.value.split("\n");
  const line = Math.min(found.mistake.line, lines.length);
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + lines[line - 1].length);
  const height = text.scrollHeight / lines.length;
  text.scrollTop = Math.max(0, (line - 4) * height);
}

async function start() {
  const text = byId("text");
  text.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      typing = 0;
      change("/api/policy/written", () => ({ text: text.value }));
    }, 300);
  });
  byId("mistake-go").addEventListener("click", goThere);
  byId("undo").addEventListener("click", () => change("/api/policy/undone", () => ({})));
  byId("files").addEventListener("change", () => byId("files").value && change("/api/policy/taken", () => ({ file: byId("files").value })));
  byId("save").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      found = await send("/api/policy/saved", body({ file: byId("file").value.trim() }));
      byId("saved").textContent = `Written to ${found.file}.`;
      show();
      trouble(null);
    } catch (error) {
      byId("saved").textContent = "";
      trouble(error);
    }
  });
  found = await ask("/api/policy", body({}));
  show();
}

start().catch((error) => {
  byId("scope").textContent = "";
  trouble(error);
});
