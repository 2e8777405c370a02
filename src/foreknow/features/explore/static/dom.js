// Elements, tables and requests. Texts are only ever set as texts: nothing in them is read as HTML.

export function el(tag, props, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function fill(place, ...children) {
  place.replaceChildren(...children);
  return place;
}

// A table that is wider than its place says that it goes on.
const measured = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const place = target.parentElement;
    if (!place) continue;
    const goes = place.scrollWidth > place.clientWidth + 1;
    place.classList.toggle("goes", goes);
    const next = place.nextElementSibling;
    const said = next && next.classList.contains("scrolls") ? next : null;
    if (goes && !said) place.after(el("p", { class: "scrolls", "aria-hidden": "true" }, "goes on to the side →"));
    if (!goes && said) said.remove();
  }
});

// A table in a place that scrolls.
export function scrolling(made, caption) {
  const place = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table" }, made);
  measured.observe(made);
  return place;
}

export function byId(id) {
  return document.getElementById(id);
}

function bar(cell) {
  const made = el("span", { class: "bar " + (cell.mood || "plain"), "aria-hidden": "true" });
  const inner = el("span");
  inner.style.width = cell.width + "%";
  made.append(inner);
  if (cell.mark) {
    const mark = el("i");
    mark.style.left = cell.mark + "%";
    made.append(mark);
  }
  return made;
}

function content(cell) {
  if (typeof cell === "string") return [cell];
  const text = cell.below ? el("span", {}, cell.text, el("br"), el("span", { class: "more" }, cell.below)) : cell.text;
  return cell.width ? [text, bar(cell)] : [text];
}

// A table as the report has it; `kind` is its class.
export function table(values, kind, caption) {
  const left = new Set(values.left);
  const named = /\brows\b/.test(kind); // heads are names of columns
  const heads = values.head.map((title) => (!named && /^\w[a-z]/.test(title) ? title.slice(0, 1).toUpperCase() + title.slice(1) : title));
  const head = heads.map((title, i) =>
    el("th", { scope: "col", class: left.has(i) ? null : "num" }, title)
  );
  const rows = values.rows.map((row) =>
    el(
      "tr",
      {},
      ...row.map((cell, i) => {
        const over = cell.mood === "unsafe" ? " over" : "";
        const about = (left.has(i) ? "label" : "num") + over;
        const props = i === 0 ? { scope: "row", class: about } : { class: about };
        if (heads[i]) props["data-head"] = heads[i];
        return el(i === 0 ? "th" : "td", props, ...content(cell));
      })
    )
  );
  const made = el(
    "table",
    { class: kind },
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...rows)
  );
  const place = scrolling(made, caption);
  return el("div", {}, place, values.note ? el("p", { class: "note" }, values.note) : null);
}

const CLASSES = { safe: "sentence safe", unsafe: "sentence unsafe", warning: "sentence unsafe", lead: "sentence plain" };
const KINDS = {
  heading: (block) => el("h3", {}, block.text),
  sentence: (block) => el("p", { class: CLASSES[block.mood] || "note" }, block.text),
  items: (block) => el("ul", { class: "said" }, ...block.texts.map((text) => el("li", {}, text))),
  table: (block) => table(block, block.style + (block.head.length > 3 ? " cards" : ""), block.title),
};

// Elements for blocks as the report has them; figures have places of their own.
export function blocks(list) {
  return list.filter((block) => KINDS[block.kind]).map((block) => KINDS[block.kind](block));
}

// What a policy leaves open, with a button for each way out.
export function decisions(list, take) {
  return list.map(({ says, ways }) =>
    el("div", { class: "open-decision" }, el("p", { class: "sentence unsafe" }, says), el("p", { class: "tools" }, ...ways.map(({ key, says }) => el("button", { type: "button", click: () => take(key) }, says))))
  );
}

// ---- requests -------------------------------------------------------------------------------

export const SECRET = "x-foreknow-secret";
const WAIT = 500;
const tabs = new BroadcastChannel(SECRET);

// A tab tells the others of this address, which may have been opened without the secret.
tabs.addEventListener("message", (event) => {
  const own = sessionStorage.getItem(SECRET);
  if (event.data === "ask" && own) tabs.postMessage({ secret: own });
});

function secret() {
  const own = sessionStorage.getItem(SECRET);
  if (own) return own;
  return new Promise((done) => {
    const late = setTimeout(() => done(""), WAIT);
    tabs.addEventListener("message", (event) => {
      if (!event.data.secret) return;
      clearTimeout(late);
      sessionStorage.setItem(SECRET, event.data.secret);
      done(event.data.secret);
    });
    tabs.postMessage("ask");
  });
}

async function answer(response) {
  let found = null;
  try {
    found = await response.json();
  } catch {
    throw new Error("That went wrong: a bug in Foreknow.");
  }
  if (!response.ok) throw new Error(found.error || "That went wrong.");
  return found;
}

async function fetched(path, options = {}) {
  const headers = { ...options.headers, [SECRET]: await secret() };
  try {
    return await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer: was it ended in its terminal?");
  }
}

export async function ask(path, given) {
  const query = new URLSearchParams(given).toString();
  return answer(await fetched(query ? path + "?" + query : path));
}

export async function send(path, given) {
  const headers = { "content-type": "application/json" };
  return answer(await fetched(path, { method: "POST", headers, body: JSON.stringify(given) }));
}

export function trouble(error) {
  const place = byId("trouble");
  place.hidden = !error;
  place.textContent = error ? error.message : "";
}

// Ask again and again, never twice at once, always ending with what was asked for last.
export function latest(work) {
  let running = false;
  let wanted = null;
  return async function (...given) {
    wanted = given;
    if (running) return;
    running = true;
    while (wanted) {
      const next = wanted;
      wanted = null;
      try {
        await work(...next);
        if (!wanted) trouble(null);
      } catch (error) {
        trouble(error);
      }
    }
    running = false;
  };
}

// ---- the state of the page is its address ---------------------------------------------------

export function state() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

// Adds the table that the address names to what is asked.
export function body(given) {
  const { of } = state();
  return of ? { ...given, of } : given;
}

export function keep(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? "?" + text : ""));
  linked();
}

// Other views look at the same table or release.
export function linked() {
  const of = state().of;
  for (const link of document.querySelectorAll(".top nav a")) {
    const path = new URL(link.href).pathname;
    link.href = of ? path + "?" + new URLSearchParams({ of }) : path;
  }
}

linked();
