import { ask, byId, el, fill, state, trouble } from "./dom.js";

const VIEW = { table: "/columns?", release: "/release?", policy: "/policy?" };

function line(choice) {
  const several = choice.kind === "tables";
  const where = several ? "/?" + new URLSearchParams({ in: choice.name }) : VIEW[choice.kind] + new URLSearchParams({ of: choice.name });
  return el("li", {}, el("span", { class: "kind" }, choice.kind), el("a", { href: where }, choice.name));
}

async function start() {
  const within = state().in;
  const found = await ask("/api/choices", within ? { in: within } : {});
  byId("where").textContent = ", in " + found.folder;
  const list = found.choices.map(line);
  fill(
    byId("choices"),
    list.length ? el("ul", { class: "open" }, ...list) : el("p", {}, within ? "There is no table in it." : "There is no table and no release in this folder.")
  );
}

start().catch(trouble);
