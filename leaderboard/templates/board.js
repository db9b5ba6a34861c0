for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = head.classList.contains("number");
    const key = (row) => row.cells[column].dataset.key;
    const order = (a, b) => number ? Number(a) - Number(b) : a.localeCompare(b);
    const rows = [...table.tBodies[0].rows];
    // What is undefined stays at the end, whichever way the others go.
    rows.sort((a, b) => (key(a) === "") - (key(b) === "") || (down ? -1 : 1) * order(key(a), key(b)));
    table.tBodies[0].append(...rows);
  }));
}
