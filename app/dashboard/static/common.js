// Loaded by every page: local times, the theme switch, and copy buttons.
import { localTimes } from "./format.js";
import { watchScroll } from "./scroll.js";

localTimes(document);
document.querySelectorAll(".scroll").forEach(watchScroll);

document.getElementById("theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("rugnik-theme", root.dataset.theme);
  } catch {
    // Without local storage the choice is lost when the page is left.
  }
  document.dispatchEvent(new CustomEvent("themechange"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.dispatchEvent(new CustomEvent("themechange"));
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const code = button.closest(".code").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});
