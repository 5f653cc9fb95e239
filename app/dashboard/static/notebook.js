// A Jupyter notebook (nbformat 4.5) with the questions of the page, as the panels word them in Python.

const cell = (type, id, source) => ({
  cell_type: type, id, metadata: {}, source: source.split(/(?<=\n)/), ...(type === "code" ? { execution_count: null, outputs: [] } : {}),
});

// An address may hold brackets of its own, which would end the link in Markdown, and begin another or a picture.
const escape = (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;

// `panels`: [{name, title, call}], of the calls in Python that assign an answer; the answer is shown below each.
export function notebook({ title, link, connected, panels }) {
  const cells = [
    cell("markdown", "about", `# ${title}\n\nThe questions of [this view](${link.replace(/[()[\]]/g, escape)}). Asking spends no epsilon.\n\n` +
      "It takes the package `rugnik` and the variable `RUGNIK_KEY` with your key. Do not write the key into the notebook.\n"),
    cell("code", "client", connected),
  ];
  for (const { name, title: heading, call } of panels) {
    const shown = call.split("\n").map((line) => line.split(" = ")[0]).at(-1);
    cells.push(cell("markdown", `${name}-title`, `## ${heading}\n`), cell("code", name, `${call}\n${shown}`));
  }
  return {
    cells, nbformat: 4, nbformat_minor: 5,
    metadata: { kernelspec: { display_name: "Python 3", language: "python", name: "python3" }, language_info: { name: "python" } },
  };
}

export function save(made, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(made, null, 1)], { type: "application/x-ipynb+json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the download has begun by then
}
