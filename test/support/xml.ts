/** Whether a text is well-formed XML, as far as pictures need it: elements that close in order, attributes in quotes, nothing that is not escaped. */

const TAG = /^<(\/?)([a-z][\w-]*)((?:\s+[\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)\s*(\/?)>/i;

/** The elements in the order in which they begin; throws where something is wrong. */
export function elementsOf(
  xml: string,
): { readonly name: string; readonly attributes: Readonly<Record<string, string>>; readonly text: string }[] {
  const elements: { name: string; attributes: Record<string, string>; text: string }[] = [];
  const open: (typeof elements)[number][] = [];
  let rest = xml.trimEnd();
  while (rest !== '') {
    const text = /^[^<]*/.exec(rest)?.[0] ?? '';
    if (/&(?!(?:amp|lt|gt|quot);)/.test(text)) throw new Error(`not escaped: ${text.trim()}`);
    const inner = open.at(-1);
    if (inner) inner.text += text;
    else if (text.trim() !== '') throw new Error(`outside of everything: ${text.trim()}`);
    rest = rest.slice(text.length);
    if (rest === '') break;
    const tag = TAG.exec(rest);
    if (!tag) throw new Error(`no tag: ${rest.slice(0, 60)}`);
    const [whole, isEnd, name = '', attributes = '', isEmpty] = tag;
    rest = rest.slice(whole.length);
    if (isEnd) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes nothing`);
      continue;
    }
    if (!inner && elements.length > 0) throw new Error(`<${name}> is a second root`);
    const pairs = [...attributes.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value] as const);
    if (new Set(pairs.map(([key]) => key)).size < pairs.length) throw new Error(`<${name}> has an attribute twice`);
    const element = { name, attributes: Object.fromEntries(pairs), text: '' };
    elements.push(element);
    if (!isEmpty) open.push(element);
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)?.name}> is not closed`);
  return elements;
}
