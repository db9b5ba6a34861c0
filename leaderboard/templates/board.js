for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const number = head.classList.contains("number");
    // The largest number first, the first letter first; a second click turns it round.
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : number;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.key;
    const order = (a, b) => number ? Number(a) - Number(b) : a.localeCompare(b);
    const rows = [...table.tBodies[0].rows];
    // What is undefined stays at the end, whichever way the others go.
    rows.sort((a, b) => (key(a) === "") - (key(b) === "") || (down ? -1 : 1) * order(key(a), key(b)));
    table.tBodies[0].append(...rows);
  }));
}

const filter = document.querySelector("#filter");
filter.hidden = false;
filter.addEventListener("submit", (event) => event.preventDefault());
filter.addEventListener("input", () => {
  const words = filter.querySelector("#words").value.toLowerCase().split(/\s+/);
  const access = filter.querySelector("#access").value;
  for (const row of document.querySelectorAll("tbody tr:not(.control)")) {
    const text = row.querySelector(".name").textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word)) && [row.dataset.access, ""].includes(access);
    row.hidden = !fits;
  }
});
