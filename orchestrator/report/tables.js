"use strict";
// Sorts tables by a click on a heading and filters long ones; without it the page is complete, but static.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const key = (row, place) => {
    const number = row.cells[place].querySelector("data"), text = row.cells[place].textContent.trim();
    return number ? Number(number.value) : text === "" || isNaN(text) ? text : Number(text);
  };
  const compare = (a, b) => typeof a !== typeof b ? (typeof a === "number" ? -1 : 1) : a < b ? -1 : Number(a > b);
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      rows.sort((a, b) => compare(key(a, place), key(b, place)) * (falls ? -1 : 1));
      body.append(...rows);
    });
  });
  if (rows.length > 12 && !table.classList.contains("upright")) {
    const label = document.createElement("label"), filter = document.createElement("input");
    filter.type = "search";
    label.className = "filter";
    label.append("Show only rows with: ", filter);
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    });
    table.parentNode.before(label);
  }
}
