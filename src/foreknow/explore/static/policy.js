import { ask, byId, el, fill, latest, send, state, table, trouble } from "./dom.js";

let found = null;
let typing = 0;

function body(given) {
  const { of } = state();
  return of ? { ...given, of } : given;
}

const change = latest(async (path, given) => {
  const active = document.activeElement && document.activeElement.id;
  found = await send(path, body(given));
  show();
  const again = active && byId(active);
  if (again && again !== document.activeElement) again.focus();
});

function set(path, value, number) {
  change("/api/policy/settled", { path, value, number: Boolean(number) });
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
  return el("p", { class: "field" }, el("label", { for: id }, title), input);
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
      turn: (key) => set(path, turned(own, known, key)),
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
    const texts = (list) => (list || []).join(", ");
    const simple = !found.secret.some((each) => each in own && each !== "values" && each !== "except");
    const safe = (list) => (list || []).every((each) => typeof each === "string" && !each.includes(","));
    if (simple && !("except" in own) && safe(own.values)) fields.push(field([...path, "values"], "about these values (empty: all)", texts(own.values), { list: true }));
    if (simple && !("values" in own) && safe(own.except)) fields.push(field([...path, "except"], "but not about", texts(own.except), { list: true }));
  }
  const hidden = found.table.schema && found.table.schema.sensitive;
  if (Array.isArray(hidden) && hidden.length > 1) {
    fields.push(field([...path, "sensitive"], "in the column", own.sensitive || "", { choices: [["", "–"], ...hidden.map((each) => [each, each])] }));
  }
  const bad = wrong(path) || inside(path);
  const said = bad ? el("p", { class: "why asks" }, found.mistake.said) : null;
  const remove = el("button", { type: "button", id: "remove-" + place, "aria-label": `Remove requirement ${place + 1}`, click: () => set(path, null) }, "Remove");
  return el("fieldset", { class: bad ? "bad" : null }, el("legend", {}, own.name || `Requirement ${place + 1}`), said, el("div", { class: "fields" }, ...fields), remove);
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
      ...[["Sensitive", schema.sensitive], ["Known to others", schema.quasi_identifiers], ["Never published", schema.identifiers], ["As they are", schema.other]].map(
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
  return [columns, ...required.map(requirement), add, el("fieldset", {}, el("legend", {}, "Publish"), el("div", { class: "fields" }, method, shape))];
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
  fill(byId("form"), ...form());
  fill(byId("words"), found.words.rows.length ? table(found.words, "policy", "The policy in words") : el("p", { class: "note" }, "Once it has no mistake."));
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
      change("/api/policy/written", { text: text.value });
    }, 300);
  });
  byId("mistake-go").addEventListener("click", goThere);
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
  const { of } = state();
  found = await ask("/api/policy", of ? { of } : {});
  show();
}

start().catch((error) => {
  byId("scope").textContent = "";
  trouble(error);
});
