// Voronoi cells of the cluster centres in a plane. Distances are those of the clustering: every attribute is scaled to
// [-1, 1]. With more than two attributes the plane is a slice, and `off` is the squared distance of a centre from it. The
// cells are then those of the true partition within the slice (a power diagram), not those of the projected centres.

export const scaled = (position, [start, stop]) => (2 * (position - start)) / (stop - start) - 1;
export const unscaled = (u, [start, stop]) => start + ((u + 1) / 2) * (stop - start);

// The part of a convex polygon where ax * x + ay * y <= limit.
function cut(polygon, ax, ay, limit) {
  const kept = [];
  polygon.forEach((point, place) => {
    const next = polygon[(place + 1) % polygon.length];
    const here = ax * point[0] + ay * point[1] - limit;
    const there = ax * next[0] + ay * next[1] - limit;
    if (here <= 0) kept.push(point);
    if (here < 0 !== there < 0 && here !== there) {
      const share = here / (here - there);
      kept.push([point[0] + share * (next[0] - point[0]), point[1] + share * (next[1] - point[1])]);
    }
  });
  return kept;
}

// centres: [{x, y, off}], x and y in [-1, 1]. Returns a polygon for each, empty if the slice does not meet its cell.
export function cells(centres) {
  const whole = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
  return centres.map((centre, i) => centres.reduce((polygon, other, j) => {
    if (i === j || polygon.length === 0) return polygon;
    // |p - centre|^2 + centre.off <= |p - other|^2 + other.off
    const limit = (other.x ** 2 + other.y ** 2 + other.off - centre.x ** 2 - centre.y ** 2 - centre.off) / 2;
    return cut(polygon, other.x - centre.x, other.y - centre.y, limit);
  }, whole));
}
