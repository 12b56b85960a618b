// Draws docs/tenure.svg, the picture in the README: who asks whom for a lease, and what becomes of it. One file for light and dark pages:
// it follows the reader's setting. `npm run docs:picture` writes it; a test compares it with what this draws.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const WIDTH = 840;
const HEIGHT = 396;

const STYLE = `
  .paper { fill: #ffffff } .card { fill: #f6f8fa; stroke: #d0d7de } .ink { fill: #1f2328 } .soft { fill: #59636e }
  .line { stroke: #59636e; fill: none } .tip { fill: #59636e } .hold { fill: #1a7f37 } .next { fill: #0969da } .rest { fill: #d0d7de } .on { fill: #ffffff }
  .mark { stroke: #cf222e }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .card { fill: #151b23; stroke: #3d444d } .ink { fill: #f0f6fc } .soft { fill: #9198a1 }
    .line { stroke: #9198a1 } .tip { fill: #9198a1 } .hold { fill: #238636 } .next { fill: #1f6feb } .rest { fill: #3d444d } .mark { stroke: #f85149 }
  }
  text { font: 14px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif } .big { font-weight: 600; font-size: 15px } .code { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, monospace }
  .middle { text-anchor: middle }`;

/** @type {(x: number, y: number, words: string, kind?: string) => string} */
const text = (x, y, words, kind = 'ink') => `<text x="${x}" y="${y}" class="${kind}">${words}</text>`;
/** @type {(x: number, y: number, width: number, height: number, kind?: string) => string} */
const box = (x, y, width, height, kind = 'card') => `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" class="${kind}"/>`;
/** @type {(fromX: number, fromY: number, toX: number, toY: number) => string} */
const arrow = (fromX, fromY, toX, toY) =>
  `<path d="M${fromX} ${fromY} L${toX} ${toY}" class="line" stroke-width="1.5" marker-end="url(#tip)"/>`;

/** Three processes that want the same thing. */
function askers() {
  return ['worker 1', 'worker 2', 'a shell script'].flatMap((name, i) => {
    const y = 56 + i * 56;
    return [box(24, y, 168, 40), text(108, y + 25, name, 'ink middle'), arrow(192, y + 20, 292, 132)];
  });
}

/** What grants leases: a cell, or a store. */
function granters() {
  const members = ['a', 'b', 'c'].flatMap((id, i) => {
    const [x = 0, y = 0] =
      [
        [440, 98],
        [400, 162],
        [480, 162],
      ][i] ?? [];
    return [`<circle cx="${x}" cy="${y}" r="20" class="card"/>`, text(x, y + 5, id, 'ink big middle')];
  });
  const sides = ['M430 115 L410 145', 'M450 115 L470 145', 'M420 162 L460 162'].map((d) => `<path d="${d}" class="line"/>`);
  return [
    box(304, 40, 272, 188),
    text(440, 66, 'a cell: a majority grants', 'ink big middle'),
    ...sides,
    ...members,
    text(440, 210, 'your replicas, or three daemons', 'soft middle'),
    text(602, 138, 'or', 'soft middle'),
    box(628, 40, 188, 188),
    text(722, 66, 'a store', 'ink big middle'),
    ...['a directory, a device', 'PostgreSQL, Redis', 'etcd, an S3 bucket', 'several of them'].map((name, i) =>
      text(722, 102 + i * 26, name, 'ink middle'),
    ),
    text(722, 210, 'nothing else to run', 'soft middle'),
  ];
}

/** One lease in time: a holder that dies, a gap, and the next one. */
function timeline() {
  const y = 300;
  return [
    text(24, y - 40, "the lease 'nightly', in time", 'ink big'),
    `<rect x="24" y="${y}" width="792" height="34" rx="6" class="rest"/>`,
    `<rect x="24" y="${y}" width="246" height="34" rx="6" class="hold"/>`,
    text(40, y + 22, 'worker 1 holds it, token 41', 'on'),
    `<path d="M270 ${y - 10} V${y + 44}" class="mark" stroke-width="2"/>`,
    text(270, y - 16, 'worker 1 dies', 'soft middle'),
    text(349, y + 22, 'its term runs out', 'soft middle'),
    `<rect x="428" y="${y}" width="388" height="34" rx="6" class="next"/>`,
    text(444, y + 22, 'worker 2 holds it, token 42', 'on'),
    text(24, y + 70, 'A holder is told to stop before its lease ends, network or not. What it protects refuses the older token.', 'soft'),
  ];
}

/** The whole picture. */
export function picture() {
  const parts = [box(0, 0, WIDTH, HEIGHT, 'paper'), text(24, 32, 'who wants it', 'ink big'), ...askers(), ...granters(), ...timeline()];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="Processes ask a cell or a store for a lease; one holds it at a time, and each holder has a higher token than the one before.">
<style>${STYLE}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" class="tip"/></marker></defs>
${parts.join('\n')}
</svg>
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(new URL('../docs/tenure.svg', import.meta.url), picture());
