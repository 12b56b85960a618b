/** Reading the settings of a stage. */
import { parseDuration, TenureError } from '../../kernel/index.ts';
import type { Settings } from './staging.ts';

export function settingCount(settings: Settings, name: string, min: number, max: number): number {
  const text = settings[name] ?? '';
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new TenureError('TENURE_BAD_ARGUMENT', `${name} is a whole number from ${min} to ${max}, not '${text}'`);
}

/** One of a few words. */
export function settingWord<Word extends string>(settings: Settings, name: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === settings[name]);
  if (word !== undefined) return word;
  throw new TenureError('TENURE_BAD_ARGUMENT', `${name} is one of ${words.join(', ')}, not '${settings[name] ?? ''}'`);
}

export function settingSpanUs(settings: Settings, name: string): number {
  return parseDuration(settings[name] ?? '');
}

/** One span for all, or one for each. */
export function settingSpansUs(settings: Settings, name: string, count: number): readonly number[] {
  const spansUs = (settings[name] ?? '').split(',').map((text) => parseDuration(text));
  if (spansUs.length === count) return spansUs;
  if (spansUs.length === 1) return Array.from({ length: count }, () => spansUs[0] as number);
  throw new TenureError('TENURE_BAD_ARGUMENT', `${name} is one span, or ${count} of them, not '${settings[name] ?? ''}'`);
}

const PPM = /^(\d+)(?:ppm)?$/;

export function settingPpm(settings: Settings, name: string): number {
  const text = settings[name] ?? '';
  const [, digits] = PPM.exec(text) ?? [];
  if (digits !== undefined) return Number(digits);
  throw new TenureError('TENURE_BAD_ARGUMENT', `${name} is a whole number of parts per million, like 100ppm, not '${text}'`);
}

export function settingIsOn(settings: Settings, name: string): boolean {
  return settingWord(settings, name, ['yes', 'no']) === 'yes';
}

/** `acceptors=3 term=2s` as settings; each must have a default. */
export function parseSettings(words: readonly string[], defaults: Settings): Settings {
  const settings: Record<string, string> = { ...defaults };
  const said = new Set<string>();
  for (const word of words) {
    const [name = '', value, ...rest] = word.split('=');
    if (value === undefined || rest.length > 0 || !Object.hasOwn(defaults, name))
      throw new TenureError('TENURE_BAD_ARGUMENT', `'${word}' is no setting of this stage; there are ${Object.keys(defaults).join(', ')}`);
    if (said.has(name)) throw new TenureError('TENURE_BAD_ARGUMENT', `'${name}' is said twice`);
    said.add(name);
    settings[name] = value;
  }
  return settings;
}
