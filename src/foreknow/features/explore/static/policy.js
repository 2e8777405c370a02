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
  const known = found.form.kinds.find(({ key }) => key in own && !Array.isArray(own[key]));
  const fields = [];
  const kinds = found.form.kinds.map(({ key }) => [key, key.replaceAll("_", " ")]);
  fields.push(
    field([...path, "kind"], "Knowledge, or a criterion", known ? known.key : "", {
      choices: known ? kinds : [["", "as the file says"], ...kinds],
      turn: (key) => set(path, () => turned(found.table.require[place], known, key)),
    })
  );
  for (const each of known ? known.fields : []) {
    const given = each.key ? own[known.key][each.key] : own[known.key];
    fields.push(setting([...path, known.key, each.key].filter(Boolean), each, given, [each.key, each.about].filter(Boolean).join(": ")));
  }
  if (known && known.limited) {
    fields.push(...oneOf(own, path, "limit", "the limit", (chosen, before) => number(own[before]) || chosen.start));
    fields.push(...oneOf(own, path, "secret", "what must stay hidden", (chosen) => chosen.start, [["", "each value by itself"]]), ...sight(own, path));
  }
  const hidden = [].concat((found.table.schema && found.table.schema.sensitive) || []);
  if (hidden.length > 1 || own.sensitive) {
    fields.push(field([...path, "sensitive"], "in the column", own.sensitive || "", { choices: [["", "–"], ...hidden.map((each) => [each, each])] }));
  }
  const bad = wrong(path) || inside(path);
  const said = bad ? el("p", { class: "why asks" }, found.mistake.said) : null;
  const more = folded(path, found.form.more, own);
  const remove = el("button", { type: "button", id: "remove-" + place, "aria-label": `Remove requirement ${place + 1}`, click: () => set(path, null) }, "Remove");
  return el("fieldset", { class: bad ? "bad" : null }, el("legend", {}, own.name || `Requirement ${place + 1}`), said, el("div", { class: "fields" }, ...fields), more, remove);
}

const simple = (list) => Array.isArray(list) && list.every((each) => typeof each === "string" && !each.includes(","));

// A field as the schema has it; a value that it cannot show stays as the file has it.
function setting(path, own, given, title) {
  const listed = own.sort === "list";
  const now = listed && typeof given === "string" ? [given] : given;
  if (typeof now === "object" && !simple(now)) return el("p", { class: "note" }, `${title}: as the file has it`);
  if (listed) return field(path, title, (now || []).join(", "), { list: true, long: true });
  if (!own.choices.length) return field(path, title, plain(now), { number: own.sort !== "string" });
  const choices = own.choices.map(([value, text]) => [String(value), text]);
  const turn = (text) => set(path, own.sort === "boolean" && text ? text === "true" : text || null);
  return field(path, title, plain(now ?? own.default), { choices: own.default === null ? [["", "–"], ...choices] : choices, turn });
}

const called = ({ key, about }) => [key[0].toUpperCase() + key.slice(1).replaceAll("_", " "), about].filter(Boolean).join(": ");

// Fields that most leave out: open where one of them says something, or is wrong.
function folded(path, fields, given) {
  const open = fields.some(({ key }) => key in given || inside([...path, key]));
  const id = "more-" + path.join("-");
  return el("details", { id, open: open || Boolean(byId(id) && byId(id).open) }, el("summary", {}, "More"), el("div", { class: "fields" }, ...fields.map((own) => setting([...path, own.key], own, given[own.key], called(own)))));
}

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

// One key of a part of a requirement, and its value: the limit, or what must stay hidden.
function oneOf(own, path, part, title, start, none = []) {
  const fields = found.form[part];
  const is = ({ key }) => key in own;
  const before = (fields.find(is) || { key: none.length ? "" : fields[0].key }).key;
  const without = (made) => Object.fromEntries(Object.entries(found.table.require[path[1]]).filter(([name]) => fields.every(({ key }) => key !== name)).concat(made));
  const [choice, now] = chooser(path, part, title, before, [...none, ...fields.map(({ key, about }) => [key, about])], (key) => {
    const chosen = fields.find((each) => each.key === key);
    const value = chosen ? start(chosen, before) : null;
    set(path, () => without(value === null ? [] : [[key, value]]));
  });
  const chosen = fields.find(({ key }) => key === now);
  if (!chosen) return [choice];
  const hint = chosen.examples.length ? "such as " + chosen.examples.join(" or ") : "with commas between";
  return [choice, setting([...path, now], chosen, own[now], part === "limit" ? chosen.about : hint)];
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
  const fresh = [["rule-values", "these values", values], ["rule-column", "are impossible for people whose", column], ["rule-where", "is one of, or in a range", where]];
  return el(
    "fieldset",
    { class: wrong(["schema", "impossible"]) || (found.mistake && inside(["schema", "impossible"])) ? "bad" : null },
    el("legend", {}, "Impossible values"),
    el("p", { class: "note" }, "People who cannot have a value are not counted among those who may have it."),
    ...rules.map(rule),
    el("div", { class: "fields" }, ...fresh.map(([id, title, input]) => el("p", { class: "field" }, el("label", { for: id }, title), input))),
    el("button", { type: "button", id: "rule-add", click: add }, "Add a rule")
  );
}

const amount = (text) => (/^-?\d+$/.test(text) ? Number(text) : text);
const number = (given) => (isNaN(given) ? given : Number(given));

function plain(value) {
  return value === undefined || value === null ? "" : String(value);
}

// The same requirement with another kind of knowledge, or a criterion, which takes no limit.
function turned(own, before, after) {
  const made = { ...own };
  if (before) delete made[before.key];
  const { usual, limited } = found.form.kinds.find(({ key }) => key === after);
  const { limit, secret } = found.form;
  made[after] = usual;
  if (!limited) for (const { key } of [...limit, ...secret]) delete made[key];
  else if (!limit.some(({ key }) => key in made)) made[limit[0].key] = limit[0].start;
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
  const add = el("p", {}, el("button", { type: "button", id: "add", click: () => set(["require", required.length], turned({}, null, found.form.kinds[0].key)) }, "Add a requirement"));
  return [columns, impossible(schema), ...required.map(requirement), add, published(found.table.publish || {})];
}

// How it is published, and what its method takes.
function published(given) {
  const { publish, methods } = found.form;
  const method = given.method || publish.find(({ key }) => key === "method").default;
  const first = publish.filter(({ sort, choices }) => choices.length && sort !== "boolean");
  const rest = publish.filter((own) => !first.includes(own));
  const own = (methods[method] || []).map((each) => setting(["publish", method, each.key], each, (given[method] || {})[each.key], `${method}: ${each.key}`));
  const fields = first.map((each) => setting(["publish", each.key], each, given[each.key], called(each)));
  return el("fieldset", {}, el("legend", {}, "Publish"), el("div", { class: "fields" }, ...fields, ...own), folded(["publish"], rest, given));
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
