// Filters the table of datasets while one types. Without this script, the form asks the service for the same.
const input = document.getElementById("q");
const rows = [...document.querySelectorAll("#datasets tbody tr")];
const found = document.getElementById("found");
const asked = input.value.trim(); // the rows of this page have it already

input.addEventListener("input", () => {
  const text = input.value.trim().toLocaleLowerCase();
  // What the service left out can only be found by the service.
  if (!text.includes(asked.toLocaleLowerCase())) return;
  for (const row of rows) row.hidden = !row.dataset.search.includes(text);
  const shown = rows.filter((row) => !row.hidden).length;
  found.textContent = text ? `${shown} of ${rows.length} fit “${input.value.trim()}”.` : "";
});
