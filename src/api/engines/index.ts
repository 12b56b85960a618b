/**
 * The engines that a cell can have, in the only list there is, and the ways to one: options of `joinCell`, text on a
 * command line, and what a member states in the handshake, from which a client learns what it talks to.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Engine, EngineKind } from './engine.ts';
import { flease, type FleaseOptions } from './flease.ts';
import { paxoslease, type PaxosLeaseOptions } from './paxoslease.ts';
import { quorum } from './quorum.ts';
import type { TermOptions } from './terms.ts';

export const ENGINES: readonly EngineKind<object>[] = [quorum, flease, paxoslease];

/** Which protocol grants the leases of a cell. */
export type EngineOptions = 'quorum' | { readonly flease: FleaseOptions } | { readonly paxoslease: PaxosLeaseOptions };

/** How engines are written, an example of each. */
export const ENGINE_EXAMPLES: readonly string[] = ENGINES.flatMap(({ texts }) => texts.slice(0, 1));

/** How engines are written that compare no wall clocks. */
export const CLOCKLESS_ENGINES: readonly string[] = ENGINES.flatMap(({ clockless }) => clockless ?? []);

/** Whether a text begins with the name of an engine; `parseEngine` says what else is wrong with it. */
export function isEngineNamed(text: string): boolean {
  return ENGINES.some(({ name }) => text === name || text.startsWith(`${name}:`));
}

export function makeEngine(engine: EngineOptions, terms: TermOptions): Engine {
  const { kind, options } = chosen(engine);
  return kind.make(options, terms);
}

/** The chosen engine, as text, if it needs a skew and has none. */
export function lackingSkew(engine: EngineOptions): string | null {
  const { kind, options } = chosen(engine);
  return kind.lackingSkew(options);
}

/** Reads `quorum`, `flease:4,skew=500ms`, `paxoslease:skewed,skew=200ms`: the name, then what its options are, skew by name. */
export function parseEngine(text: string): EngineOptions {
  const engine = knownEngine(text);
  if (engine !== null) return engine;
  const texts = either(ENGINES.flatMap((kind) => kind.texts));
  throw new TenureError('TENURE_BAD_ARGUMENT', `'${text}' is no engine: write ${texts}`, { input: text });
}

/** The same of what a member states, which may come from a newer version: null if this one knows no such engine. */
export function knownEngine(text: string): EngineOptions | null {
  const [, name = '', rest] = /^([a-z]+)(?::(.*))?$/.exec(text) ?? [];
  let variant: string | undefined;
  let skew: string | undefined;
  for (const part of rest?.split(',') ?? []) {
    const [, value] = /^skew=(.+)$/.exec(part) ?? [];
    if (value !== undefined && skew === undefined) skew = value;
    else if (value === undefined && variant === undefined && part !== '') variant = part;
    else return null;
  }
  const kind = ENGINES.find((one) => one.name === name);
  const options = kind?.parse(variant, skew === undefined ? {} : { skew });
  if (!kind || !options) return null;
  // The list above and the type beside it say the same.
  return (kind.options.length === 0 ? name : { [name]: options }) as EngineOptions;
}

/** Options come from plain JavaScript as well. */
function chosen(engine: unknown): { kind: EngineKind<object>; options: object } {
  const [name, options] = typeof engine === 'string' ? [engine, {}] : onlyEntry(engine);
  const kind = ENGINES.find((one) => one.name === name && (one.options.length === 0) === (typeof engine === 'string'));
  if (kind && typeof options === 'object' && options !== null) return { kind, options };
  const usage = ENGINES.map((one) => (one.options.length === 0 ? `'${one.name}'` : `{ ${one.name}: { ${one.options.join(', ')} } }`));
  throw new TenureError('TENURE_BAD_ARGUMENT', `engine is ${either(usage)}; not ${JSON.stringify(engine)}`);
}

function onlyEntry(value: unknown): [string?, unknown?] {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return (entries.length === 1 && entries[0]) || [];
}

export function either(ways: readonly string[]): string {
  return ways.length < 2 ? ways.join('') : `${ways.slice(0, -1).join(', ')} or ${ways.at(-1)}`;
}
