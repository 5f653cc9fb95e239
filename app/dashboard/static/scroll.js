// A table that is wider than its container gets keyboard focus, so that it can be scrolled; one that fits does not.

const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const place = target.closest(".scroll");
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }
});

export function watchScroll(place) {
  watcher.observe(place);
  for (const child of place.children) watcher.observe(child);
}
