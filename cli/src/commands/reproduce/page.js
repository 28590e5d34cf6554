"use strict";
// Tables sort by the column whose head is pressed, and the other way when it is pressed again.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => head.firstChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[at];
      return cell.dataset.number === undefined ? cell.textContent : Number(cell.dataset.number);
    };
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (typeof x === "number" && typeof y === "number") return x - y;
      if (typeof x !== typeof y) return typeof x === "number" ? 1 : -1;
      return x.localeCompare(y);
    };
    const rows = [...table.tBodies[0].rows].sort(order);
    if (!up) rows.reverse();
    table.tBodies[0].append(...rows);
  }));
}
// A line is hidden and shown by its entry in the legend.
for (const button of document.querySelectorAll("[data-toggle]")) {
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", shown);
    for (const group of button.closest("figure").querySelectorAll("[data-series]")) {
      if (group.dataset.series === button.dataset.toggle) group.toggleAttribute("hidden", !shown);
    }
  });
}
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
