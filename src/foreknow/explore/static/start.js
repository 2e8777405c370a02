import { ask, byId, el, fill, trouble } from "./dom.js";

function line(choice) {
  const where = choice.kind === "policy" ? null : "/release?" + new URLSearchParams({ of: choice.name });
  const shown = where ? el("a", { href: where }, choice.name) : el("span", {}, choice.name);
  return el("li", {}, el("span", { class: "kind" }, choice.kind), shown);
}

async function start() {
  const found = await ask("/api/choices");
  byId("where").textContent = ", in " + found.folder;
  const list = found.choices.map(line);
  fill(
    byId("choices"),
    list.length ? el("ul", { class: "open" }, ...list) : el("p", {}, "There is no table and no release in this folder.")
  );
}

start().catch(trouble);
