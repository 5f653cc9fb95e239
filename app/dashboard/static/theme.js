// Sets the stored theme, if any, before the first paint. Loaded without defer, so that the page does not flash.
(() => {
  try {
    const chosen = localStorage.getItem("rugnik-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Without access to local storage the preference of the system applies.
  }
})();
