// Before the first paint: the theme that the reader chose, if any. Loaded without defer, so that nothing flashes.
(() => {
  try {
    const chosen = localStorage.getItem("rugnik-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be closed to us; the system's preference holds then.
  }
})();
