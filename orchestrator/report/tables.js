"use strict";
// Sorts tables by a click on a heading, filters long ones, saves them; without it a page is complete, but static.
const sorted = new Map(); // Of each table that has been sorted: place of the column, and whether it falls.
const filtered = new Map(); // Of each table that has been filtered: the text.
function enhance(table) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const key = (row, place) => {
    const number = row.cells[place].querySelector("data"), text = row.cells[place].textContent.trim();
    return number ? Number(number.value) : text === "" || isNaN(text) ? text : Number(text);
  };
  const compare = (a, b) => typeof a !== typeof b ? (typeof a === "number" ? -1 : 1) : a < b ? -1 : Number(a > b);
  const sort = (place, falls) => {
    heads.forEach(other => other.removeAttribute("aria-sort"));
    heads[place].setAttribute("aria-sort", falls ? "descending" : "ascending");
    rows.sort((a, b) => compare(key(a, place), key(b, place)) * (falls ? -1 : 1));
    body.append(...rows);
  };
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "ascending";
      if (table.id) sorted.set(table.id, [place, falls]);
      sort(place, falls);
    });
  });
  if (sorted.has(table.id)) sort(...sorted.get(table.id));
  if (rows.length > 12 && !table.matches(".upright, .paged")) {
    const label = document.createElement("label"), filter = document.createElement("input");
    filter.type = "search";
    label.className = "filter";
    label.append("Show only rows with: ", filter);
    const show = () => {
      const wanted = filter.value.toLowerCase();
      filtered.set(table.id, filter.value);
      rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    };
    filter.addEventListener("input", show);
    filter.value = filtered.get(table.id) || "";
    if (filter.value) show();
    table.parentNode.before(label);
  }
  if (table.closest("details")) {
    const save = document.createElement("button");
    save.type = "button";
    save.className = "csv";
    save.textContent = "Save as csv";
    save.addEventListener("click", () => {
      const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const value = cell => [...cell.querySelectorAll("data")].map(number => number.value).join(" to ") || cell.textContent.trim();
      const lines = [...table.rows].map(row => [...row.cells].map(cell => quoted(value(cell))).join(","));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], {type: "text/csv"}));
      link.download = `${table.id}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
    table.parentNode.after(save);
  }
}
document.querySelectorAll("table").forEach(enhance);
