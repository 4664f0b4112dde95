for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, place) => row.cells[place].textContent;
  const figure = text => parseFloat(text.replace(/,/g, ""));
  heads.forEach((head, place) => {
    head.classList.add("sorts");
    head.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") === "descending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const rows = [...body.rows], sign = rising ? 1 : -1;
      const numeric = rows.every(row => !value(row, place) || !isNaN(figure(value(row, place))));
      rows.sort((a, b) => sign * (numeric
        ? (figure(value(a, place)) || 0) - (figure(value(b, place)) || 0)
        : value(a, place).localeCompare(value(b, place))));
      body.append(...rows);
    });
  });
}
