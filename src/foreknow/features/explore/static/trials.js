import { ask, blocks, body, byId, el, fill, send, trouble } from "./dom.js";

function boxes(place, names) {
  fill(place, ...names.map((name, i) => el("label", { for: `${place.id}-${i}` }, el("input", { type: "checkbox", id: `${place.id}-${i}`, value: name }), " ", name)));
}

function chosen(place) {
  return [...place.querySelectorAll("input:checked")].map((each) => each.value);
}

// Sends what a form says, and shows what came of it; a mistake stands in its place.
function answers(form, button, place, path, given) {
  byId(form).addEventListener("submit", async (event) => {
    event.preventDefault();
    byId(button).disabled = true;
    fill(byId(place), el("p", { class: "sentence plain" }, "Working …"));
    try {
      const told = await send(path, given());
      fill(byId(place), el("p", { class: "sentence " + told.mood }, told.headline), ...blocks(told.blocks));
    } catch (error) {
      fill(byId(place), el("p", { class: "sentence unsafe" }, error.message));
    }
    byId(button).disabled = false;
  });
}

async function start() {
  const found = await ask("/api/trials", body({}));
  byId("subject").textContent = found.name;
  byId("scope").textContent = found.published ? `On the release ${found.name}.` : `On ${found.name}, as if it were published as it is.`;
  boxes(byId("by"), found.columns);
  fill(byId("table"), ...[["", "not at hand: say what an attacker would claim"], ...found.tables.map((name) => [name, name])].map(([value, text]) => el("option", { value }, text)));
  byId("table").value = found.table;
  byId("of-table").hidden = !found.published;
  boxes(byId("releases"), found.releases);
  byId("together").hidden = found.releases.length < 2;
  if (found.releases.length < 2) fill(byId("judged"), el("p", { class: "note" }, "There are no two releases in this folder."));
  answers("learned", "try", "found", "/api/trials/learned", () => body({ by: chosen(byId("by")), table: byId("table").value }));
  answers("together", "judge", "judged", "/api/trials/together", () => ({ releases: chosen(byId("releases")) }));
}

start().catch((error) => {
  byId("scope").textContent = "";
  trouble(error);
});
