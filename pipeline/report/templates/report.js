"use strict";
// Sorts tables by the header that is pressed, and lights up a node's lines in the graph. The page is whole without it.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
      const number = (text) => (text === "" ? NaN : Number(text));
      const order = (a, b) => {
        const x = key(a), y = key(b), m = number(x), n = number(y);
        if (!Number.isNaN(m) || !Number.isNaN(n)) return Number.isNaN(m) ? 1 : Number.isNaN(n) ? -1 : down ? n - m : m - n;
        return down ? y.localeCompare(x) : x.localeCompare(y);
      };
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...[...body.rows].sort(order));
    });
  });
  table.dataset.ready = "";
}
for (const graph of document.querySelectorAll("svg.dag")) {
  const light = (id) => {
    for (const line of graph.querySelectorAll("path[data-from]"))
      line.classList.toggle("off", id !== null && line.dataset.from !== id && line.dataset.to !== id);
  };
  for (const node of graph.querySelectorAll("g[data-node]")) {
    node.addEventListener("mouseenter", () => light(node.dataset.node));
    node.addEventListener("mouseleave", () => light(null));
  }
}
