/** Elements of a picture as text. Equal inputs give equal text, wherever it runs: no locale, no more digits than are seen. */

export type SvgAttributes = Readonly<Record<string, string | number>>;

export function svgElement(name: string, attributes: SvgAttributes, content: string | readonly string[] = ''): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? pixels(value) : escaped(value)}"`,
  );
  const inner = typeof content === 'string' ? content : `\n${content.join('\n')}\n`;
  return inner === '' ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${inner}</${name}>`;
}

export function svgText(x: number, y: number, text: string, attributes: SvgAttributes = {}): string {
  return svgElement('text', { x, y, ...attributes }, escaped(text));
}

/** A line through these places. */
export function svgPath(places: readonly (readonly [x: number, y: number])[], attributes: SvgAttributes): string {
  const d = places.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${pixels(x)} ${pixels(y)}`).join('');
  return svgElement('path', { d, ...attributes });
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** A tenth of a pixel is fine enough. */
function pixels(value: number): string {
  return String(Math.round(value * 10) / 10);
}
