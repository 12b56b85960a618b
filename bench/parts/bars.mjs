/** A bar chart as SVG, written by hand: a row for each name, a bar for each series. Readable on light and on dark. */

const COLOURS = ['#4c78a8', '#f58518', '#54a24b'];
const [LEFT, WIDTH, BAR, GAP, TOP] = [230, 760, 16, 14, 58];

/**
 * @param {string} title
 * @param {readonly string[]} names
 * @param {readonly { name: string, values: readonly number[] }[]} series
 * @param {string} unit
 */
export function bars(title, names, series, unit) {
  const most = Math.max(...series.flatMap(({ values }) => values));
  const rowHeight = series.length * BAR + GAP;
  const height = TOP + names.length * rowHeight;
  const scale = (WIDTH - LEFT - 90) / most;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="12" y="22" font-size="15" font-weight="bold">${title}</text>`,
  ];
  for (const [i, { name }] of series.entries()) {
    parts.push(`<rect x="${LEFT + i * 130}" y="34" width="12" height="12" fill="${COLOURS[i]}"/>`);
    parts.push(`<text x="${LEFT + 18 + i * 130}" y="45">${name}</text>`);
  }
  for (const [row, name] of names.entries()) {
    const top = TOP + row * rowHeight;
    parts.push(`<text x="${LEFT - 10}" y="${top + (series.length * BAR) / 2 + 4}" text-anchor="end">${name}</text>`);
    for (const [i, { values }] of series.entries()) {
      const value = values[row] ?? 0;
      const width = Math.round(value * scale);
      parts.push(`<rect x="${LEFT}" y="${top + i * BAR}" width="${width}" height="${BAR - 2}" fill="${COLOURS[i]}"/>`);
      parts.push(`<text x="${LEFT + width + 6}" y="${top + i * BAR + 12}">${value}${unit}</text>`);
    }
  }
  return `${parts.join('\n')}\n</svg>\n`;
}
