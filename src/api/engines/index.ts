/**
 * From what a user or a member says to an engine: options of `joinCell`, text on a command line, and what a member
 * states in the handshake, from which a client learns what it talks to.
 */
import { TenureError } from '../../kernel/index.ts';
import type { StatedConfig } from '../../wire/index.ts';
import { quorumEngine } from './quorum.ts';
import { fleaseEngine, paxosLeaseEngine } from './rounds.ts';
import type { Engine, EngineOptions, FleaseOptions, PaxosLeaseOptions, TermOptions } from './engine.ts';

const WAYS = "'quorum', { flease: { algorithm, skew } } or { paxoslease: { clocks, skew } }";

export function makeEngine(options: EngineOptions, terms: TermOptions): Engine {
  if (options === 'quorum') return quorumEngine(terms);
  // Options come from plain JavaScript as well.
  if (typeof options === 'object' && options !== null && Object.keys(options).length === 1) {
    if ('flease' in options && isObject(options.flease)) return fleaseEngine(options.flease, terms);
    if ('paxoslease' in options && isObject(options.paxoslease)) return paxosLeaseEngine(options.paxoslease, terms);
  }
  throw new TenureError('TENURE_BAD_ARGUMENT', `engine is ${WAYS}; not ${JSON.stringify(options)}`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** What a member states, as options; null if this version knows no such engine. */
export function engineStated({ engine, algorithm, clocks, skewUs }: StatedConfig): EngineOptions | null {
  const skew = skewUs === undefined ? {} : { skew: skewUs / 1000 };
  switch (engine) {
    case 'quorum':
      return 'quorum';
    case 'flease':
      return algorithm === 2 || algorithm === 3 || algorithm === 4 ? { flease: { algorithm, ...skew } } : null;
    case 'paxoslease':
      return clocks === 'perfect' || clocks === 'skewed' || clocks === 'relative' ? { paxoslease: { clocks, ...skew } } : null;
    default:
      return null;
  }
}

/** Reads `quorum`, `flease:4,skew=500ms`, `paxoslease:skewed,skew=200ms`: the name, then what its options are, skew by name. */
export function parseEngine(text: string): EngineOptions {
  const [, name = '', rest] = /^([a-z]+)(?::(.*))?$/.exec(text) ?? [];
  let variant: string | undefined;
  let skew: string | undefined;
  for (const part of rest?.split(',') ?? []) {
    const [, value] = /^skew=(.+)$/.exec(part) ?? [];
    if (value !== undefined && skew === undefined) skew = value;
    else if (value === undefined && variant === undefined && part !== '') variant = part;
    else throw badText(text);
  }
  const bound = skew === undefined ? {} : { skew };
  switch (name) {
    case 'quorum':
      if (rest !== undefined) break;
      return 'quorum';
    case 'flease':
      if (variant !== undefined && !/^[234]$/.test(variant)) break;
      return {
        flease: { ...(variant === undefined ? {} : { algorithm: Number(variant) as NonNullable<FleaseOptions['algorithm']> }), ...bound },
      };
    case 'paxoslease':
      if (variant !== undefined && !/^(?:perfect|skewed|relative)$/.test(variant)) break;
      return {
        paxoslease: { ...(variant === undefined ? {} : { clocks: variant as NonNullable<PaxosLeaseOptions['clocks']> }), ...bound },
      };
  }
  throw badText(text);
}

function badText(text: string): TenureError {
  return new TenureError(
    'TENURE_BAD_ARGUMENT',
    `'${text}' is no engine: write quorum, flease:4,skew=500ms or flease:2 or flease:3, paxoslease:relative, paxoslease:perfect or paxoslease:skewed,skew=200ms`,
    { input: text },
  );
}
