// Which points of a plane are nearest to which centre. Distances are those of the clustering: every attribute scaled to
// [-1, 1]. In a plane through more than two dimensions a centre also lies off the plane, by the square `off`: what is
// then drawn is the true partition of that slice, not the partition of projected centres.

export const scaled = (value, attribute) => (2 * (value - attribute.lower)) / (attribute.upper - attribute.lower) - 1;
export const unscaled = (u, attribute) => attribute.lower + ((u + 1) / 2) * (attribute.upper - attribute.lower);

// The part of a polygon where a.x * x + a.y * y <= limit.
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

// centres: [{x, y, off}] in [-1, 1]; the polygon of each, empty where the slice does not meet its cell.
export function cells(centres) {
  const whole = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
  return centres.map((one, i) => centres.reduce((polygon, other, j) => {
    if (i === j || polygon.length === 0) return polygon;
    // |p - one|^2 + one.off <= |p - other|^2 + other.off
    const limit = (other.x ** 2 + other.y ** 2 + other.off - one.x ** 2 - one.y ** 2 - one.off) / 2;
    return cut(polygon, other.x - one.x, other.y - one.y, limit);
  }, whole));
}
