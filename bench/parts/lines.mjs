/** A line chart as SVG, written by hand: a line for each series over the same points. Where a value is missing, the line is broken. */

const COLOURS = ['#4c78a8', '#f58518', '#54a24b', '#b279a2'];
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [800, 340, 70, 270, 46, 52];
/** Labels that would be nearer to each other than this are left out. */
const LABEL_GAP = 28;
const TICKS = 5;

/**
 * @param {string} title
 * @param {string} across
 * @param {readonly number[]} points
 * @param {readonly { name: string, values: readonly (number | null)[] }[]} series
 * @param {string} unit
 */
export function lines(title, across, points, series, unit) {
  const step = roundUp(Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))) / TICKS);
  const [first, last] = [points[0] ?? 0, points.at(-1) ?? 1];
  /** @param {number} point */
  const x = (point) => Math.round(LEFT + ((point - first) / (last - first)) * (WIDTH - LEFT - RIGHT));
  /** @param {number} value */
  const y = (value) => Math.round(HEIGHT - BOTTOM - (value / (step * TICKS)) * (HEIGHT - TOP - BOTTOM));
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="12" y="22" font-size="15" font-weight="bold">${title}</text>`,
  ];
  for (let tick = 0; tick <= TICKS; tick++) {
    const at = y(tick * step);
    parts.push(`<line x1="${LEFT}" y1="${at}" x2="${WIDTH - RIGHT}" y2="${at}" stroke="#dddddd"/>`);
    parts.push(`<text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${tick * step}${unit}</text>`);
  }
  let labelled = -Infinity;
  for (const point of points) {
    if (x(point) - labelled < LABEL_GAP) continue;
    labelled = x(point);
    parts.push(`<text x="${labelled}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${point}</text>`);
  }
  parts.push(`<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${across}</text>`);
  for (const [i, { name, values }] of series.entries()) {
    const colour = COLOURS[i % COLOURS.length];
    // Lines that lie on each other stay visible: each has wider gaps than the one before.
    const dash = i === 0 ? '' : ` stroke-dasharray="8 ${3 * i}"`;
    for (const [at, value] of values.entries()) {
      if (value === null) continue;
      const here = `${x(points[at] ?? 0)},${y(value)}`;
      const before = values[at - 1] ?? null;
      if (before !== null) {
        parts.push(
          `<polyline points="${x(points[at - 1] ?? 0)},${y(before)} ${here}" fill="none" stroke="${colour}" stroke-width="2"${dash}/>`,
        );
      }
      parts.push(`<circle cx="${x(points[at] ?? 0)}" cy="${y(value)}" r="3" fill="${colour}"/>`);
    }
    parts.push(`<rect x="${WIDTH - RIGHT + 16}" y="${TOP + i * 22}" width="12" height="12" fill="${colour}"/>`);
    parts.push(`<text x="${WIDTH - RIGHT + 34}" y="${TOP + 11 + i * 22}" font-size="12">${name}</text>`);
  }
  return `${parts.join('\n')}\n</svg>\n`;
}

/** To 1, 2, 2.5 or 5 of something. @param {number} value */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5].find((part) => value <= part * power) ?? 10) * power;
}
