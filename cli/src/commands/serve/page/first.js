// The page of a collection without items: shows how to insert the first ones.

import { hasToken } from "./server.js";

const part = (id) => document.getElementById(id);

/** Shows how to insert items if there are none, in place of everything that needs items. */
export function showFirstSteps({ items, description }) {
  const isEmpty = items === 0;
  part("first").hidden = !isEmpty;
  for (const id of ["search", "learning"]) part(id).hidden = isEmpty;
  if (!isEmpty) return;
  const dim = description?.dim ?? null;
  part("first-text").textContent = dim === null
    ? "The first items make the collection: they fix the number of dimensions, and whether ids are numbers or strings. Put vectors of your own in."
    : `Vectors of this collection have ${dim} dimensions.`;
  show("first-curl", curl(dim));
  show("first-python", python());
}

/** Replaces a text only if it differs, because the user may be selecting it. */
function show(id, text) {
  if (part(id).textContent !== text) part(id).textContent = text;
}

const address = () => new URL(".", location.href).href.replace(/\/$/, "");

function curl(dim) {
  const vector = (number) => {
    const values = Array.from({ length: Math.min(dim ?? 4, 8) }, (_, at) => ((7 * at + 3 * number) % 10) / 10);
    return dim > 8 ? `[${values.join(", ")}, … ${dim} numbers in all]` : `[${values.join(", ")}]`;
  };
  const item = (id, label) => `{"id": ${id}, "vector": ${vector(id)}, "labels": ["${label}"], "payload": {"title": "the ${label}"}}`;
  const token = hasToken() ? " -H 'Authorization: Bearer TOKEN'" : "";
  return `curl ${address()}/items${token} -d '{"items": [\n  ${item(1, "cat")},\n  ${item(2, "dog")}]}'`;
}

function python() {
  const token = hasToken() ? ', token="TOKEN"' : "";
  return [
    "import numpy as np",
    "import hashbrook",
    "",
    'vectors = np.load("vectors.npy")  # one row per item',
    'labels = np.load("labels.npy")    # one label per item',
    `client = hashbrook.Client("${address()}"${token})`,
    "client.put(range(len(vectors)), vectors, labels)",
  ].join("\n");
}

async function copy(from, button) {
  const text = part(from).textContent;
  try {
    await navigator.clipboard.writeText(text);
    part("copied").textContent = `${button.dataset.name} copied.`;
  } catch {
    // Browsers disable the clipboard for pages from other machines without TLS.
    getSelection().selectAllChildren(part(from));
    part("copied").textContent = `${button.dataset.name} selected: press Ctrl+C to copy.`;
  }
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copy(button.dataset.copy, button));
}
