// Comfort alone: the page is complete without it.  Tables can be copied as CSV, and those with numbers sorted.
(() => {
  "use strict";
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = (table) =>
    [...table.rows].map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(",")).join("\n") + "\n";
  const put = async (text) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("not copied");
  };
  for (const table of document.querySelectorAll("table")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy as CSV";
    const name = table.caption.textContent;
    button.setAttribute("aria-label", `Copy as CSV: ${name}`);
    button.addEventListener("click", () =>
      put(csv(table)).then(
        () => (button.textContent = "Copied"),
        () => (button.textContent = "Can't be copied here"),
      ),
    );
    table.parentElement.after(button);
  }
  const key = (cell) => ("sort" in cell.dataset ? Number(cell.dataset.sort) : NaN);
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const last = table.dataset.total ? body.rows[body.rows.length - 1] : null;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const numeric = [...body.rows].some((row) => "sort" in row.cells[column].dataset);
      if (!numeric && column > 0) return;
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.title = "Sort by this column";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
        const rows = [...body.rows].filter((row) => row !== last);
        rows.sort((one, other) => {
          const [a, b] = [one.cells[column], other.cells[column]];
          if (!numeric) return -down * a.textContent.localeCompare(b.textContent);
          const [x, y] = [key(a), key(b)];
          return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : down * (x - y);
        });
        body.append(...rows, ...(last ? [last] : []));
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
      });
    });
  }
})();
