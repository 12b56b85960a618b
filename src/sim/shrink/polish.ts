/**
 * The last stage of shrinking: a play whose beats are all needed is made readable. Time that goes by, clock
 * steps and terms become round or vanish, words that change nothing go, settings go back to their defaults.
 */
import { formatDuration, parseDuration, spanUs, TenureError } from '../../kernel/index.ts';
import type { OriginAction, Settings } from '../stage/index.ts';
import type { Beat } from './play.ts';

const MILLISECOND_US = 1_000;
/** Round spans, the roundest first. */
const UNITS_US = [1000, 500, 100, 50, 10, 5, 1, 0.1, 0.01].map((ms) => ms * MILLISECOND_US);

const NUMBER = /^\d+$/;

type Act = Extract<OriginAction, { kind: 'act' }>;

const CONVINCING_US = 10_000 * MILLISECOND_US;

/** The last beats and settings that passed are the outcome. */
export type Passes = (beats: readonly Beat[], settings: Settings) => boolean;

type StillPasses = (beats: readonly Beat[]) => boolean;

/** The settings that are tried: the stage's defaults, and fewer of the nodes that `spares` count. */
export interface PlainSettings {
  readonly defaults: Settings;
  readonly spares: readonly string[];
}

export function polish(beats: readonly Beat[], settings: Settings, plain: PlainSettings, passes: Passes): void {
  const simpler = plainSettings(beats, settings, plain, passes);
  const stillPasses: StillPasses = (changed) => passes(changed, simpler);
  const passesAll = [
    allAnswers,
    plainStarts,
    withoutChoices,
    roundTime,
    onceSet,
    roundClocks,
    shorterEnd,
    plainWays,
    fewerWords,
    smallNumbers,
  ];
  passesAll.reduce((polished, pass) => pass(polished, stillPasses), beats);
}

/** Settings as they are by default, and fewer nodes, where that changes nothing. */
function plainSettings(beats: readonly Beat[], settings: Settings, { defaults, spares }: PlainSettings, passes: Passes): Settings {
  let kept = settings;
  const attempt = (name: string, value: string): boolean => {
    const changed = { ...kept, [name]: value };
    if (kept[name] === value || !passes(beats, changed)) return false;
    kept = changed;
    return true;
  };
  for (const [name, value] of Object.entries(defaults)) attempt(name, value);
  for (const name of spares) {
    for (let count = Number(kept[name] ?? '0') - 1; count >= 0 && attempt(name, String(count)); count--);
  }
  return kept;
}

/** With the first of these in the place of one beat that passes, if any does. */
function replacing(beats: readonly Beat[], at: number, by: readonly Beat[], passes: StillPasses): readonly Beat[] {
  for (const beat of by) {
    const attempt = beats.with(at, beat);
    if (passes(attempt)) return attempt;
  }
  return beats;
}

/** One action for all that a disk answers: the last one's, so that what comes of it stays known by the same beat. */
function allAnswers(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  let kept = beats;
  for (let i = beats.length - 1; i >= 0; i--) {
    const { action, ...beat } = kept[i] as Beat;
    if (action.kind !== 'answer' || action.finding !== undefined) continue;
    kept = replacing(kept, i, [{ ...beat, action: { kind: 'answer-all', node: action.node } }], passes);
  }
  return kept;
}

/** Lives as the stage numbers them, and disks that no process reads: all at once, then one after the other. */
function plainStarts(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  const plainer = (beat: Beat, keepsDisk: boolean): Beat => {
    const { action } = beat;
    if (action.kind !== 'restart' && action.kind !== 'twin') return beat;
    const { as: _as, ...plain } = action;
    return { ...beat, action: plain.kind === 'twin' ? plain : { ...plain, diskKept: keepsDisk && plain.diskKept } };
  };
  let kept = beats;
  const attempt = (changed: readonly Beat[]): boolean => {
    if (!passes(changed)) return false;
    kept = changed;
    return true;
  };
  if (!beats.some((beat) => plainer(beat, false) !== beat)) return beats;
  if (attempt(kept.map((beat) => plainer(beat, false)))) return kept;
  attempt(kept.map((beat) => plainer(beat, true)));
  beats.forEach((_, i) => {
    const beat = kept[i] as Beat;
    if (plainer(beat, false) === beat) return;
    if (!attempt(kept.with(i, plainer(beat, false)))) attempt(kept.with(i, plainer(beat, true)));
  });
  return kept;
}

/** All choices at once, then one beat after the other. */
function withoutChoices(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  const none = beats.map((beat) => ({ ...beat, choices: [] }));
  if (passes(none)) return none;
  let kept = beats;
  beats.forEach((beat, i) => {
    if (beat.choices && beat.choices.length > 0) kept = replacing(kept, i, [{ ...beat, choices: [] }], passes);
  });
  return kept;
}

/** Every pause as short, or else as round, as it may be. */
function roundTime(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  let kept = beats;
  for (let i = 0; i < kept.length; i++) {
    const beforeUs = i === 0 ? 0 : (kept[i - 1] as Beat).atUs;
    const gapUs = (kept[i] as Beat).atUs - beforeUs;
    for (const gap of rounderSpans(gapUs)) {
      const shifted = kept.map((beat, at) => (at < i ? beat : { ...beat, atUs: beat.atUs - gapUs + gap }));
      if (!passes(shifted)) continue;
      kept = shifted;
      break;
    }
  }
  return kept;
}

/** Where all goes well in the end: not much longer than it takes to be convincing. */
function shorterEnd(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  const last = beats.at(-1);
  if (last?.action.kind !== 'settle' || last.action.byUs <= CONVINCING_US) return beats;
  return replacing(beats, beats.length - 1, [{ ...last, action: { ...last.action, byUs: CONVINCING_US } }], passes);
}

/** What users do of themselves in the end: nothing, or as round as it may be. */
function plainWays(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  let kept = beats;
  for (const way of ['askAgainUs', 'giveBackUs'] as const) {
    const last = kept.at(-1);
    if (last?.action.kind !== 'settle') return kept;
    const { action } = last;
    const us = action[way];
    if (us === undefined) continue;
    const { [way]: _, ...without } = action;
    const simpler = [without, ...rounderSpans(us).map((span) => ({ ...action, [way]: span }))];
    kept = replacing(
      kept,
      kept.length - 1,
      simpler.map((one) => ({ ...last, action: one })),
      passes,
    );
  }
  return kept;
}

/** A wall clock that is set again and again is set once, by as much in all: where it was set last, or else where it was first. */
function onceSet(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  let kept = beats;
  for (let i = kept.length - 1; i > 0; i--) {
    const late = setOf(kept[i]);
    if (!late) continue;
    const at = kept.findLastIndex((beat, index) => index < i && setOf(beat)?.node === late.node);
    const early = setOf(kept[at]);
    if (!early) continue;
    const byUs = early.byUs + late.byUs;
    const both = (index: number): Beat => ({ ...(kept[index] as Beat), action: { ...late, byUs } });
    const attempts =
      byUs === 0
        ? [kept.toSpliced(i, 1).toSpliced(at, 1)]
        : [kept.with(i, both(i)).toSpliced(at, 1), kept.with(at, both(at)).toSpliced(i, 1)];
    kept = attempts.find((attempt) => passes(attempt)) ?? kept;
  }
  return kept;
}

function setOf(beat: Beat | undefined): Extract<OriginAction, { kind: 'set' }> | null {
  return beat?.action.kind === 'set' ? beat.action : null;
}

function roundClocks(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  let kept = beats;
  beats.forEach((beat, i) => {
    const { action } = beat;
    if (action.kind !== 'set' && action.kind !== 'rate') return;
    const amount = action.kind === 'set' ? action.byUs : action.ppm;
    // A clock that runs further off than it was drawn may do what no engine was told of.
    const rounder = rounderSpans(Math.abs(amount)).filter((round) => action.kind === 'set' || round < Math.abs(amount));
    const signed = rounder.map((round) => (amount < 0 ? -round : round));
    const changed = signed.map((round) => (action.kind === 'set' ? { ...action, byUs: round } : { ...action, ppm: round }));
    kept = replacing(
      kept,
      i,
      changed.map((one) => ({ ...beat, action: one })),
      passes,
    );
  });
  return kept;
}

/** Each single word, and each pair of words, that can go; durations in whole seconds where they may be. */
function fewerWords(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  let kept = beats;
  const attempt = (i: number, action: Act): boolean => {
    const changed = kept.with(i, { ...(kept[i] as Beat), action });
    if (!passes(changed)) return false;
    kept = changed;
    return true;
  };
  for (let i = 0; i < kept.length; i++) {
    const act = (): Act | null => {
      const { action } = kept[i] as Beat;
      return action.kind === 'act' ? action : null;
    };
    for (const length of [2, 1]) {
      for (let at = 1; at + length <= (act()?.words.length ?? 0);) {
        const longer = act() as Act;
        if (!attempt(i, { ...longer, words: longer.words.toSpliced(at, length) })) at++;
      }
    }
    const shortest = act();
    if (!shortest) continue;
    if (shortest.about !== null && shortest.words[0] !== '-') attempt(i, { ...shortest, about: null });
    shortest.words.forEach((word, at) => {
      const us = durationOf(word);
      const now = act();
      if (us === null || !now) return;
      for (const round of rounderSpans(us)) {
        if (round > 0 && attempt(i, { ...now, words: now.words.with(at, formatDuration(spanUs(round)).replaceAll(' ', '')) })) break;
      }
    });
  }
  return kept;
}

/** Ballots and values as small as can be, in the same order; each verb has its own. */
function smallNumbers(beats: readonly Beat[], passes: StillPasses): readonly Beat[] {
  const said = beats.flatMap(({ action }) => (action.kind === 'act' ? action.words.map((word) => ({ verb: action.verb, word })) : []));
  const numbers = said.filter(({ word }) => NUMBER.test(word));
  const verbs = [...new Set(numbers.map(({ verb }) => verb))];
  const inOrder = verbs.flatMap((verb) => {
    const own = new Set(numbers.filter((one) => one.verb === verb).map(({ word }) => Number(word)));
    return [...own].toSorted((a, b) => a - b).map((number) => `${verb} ${number}`);
  });
  const smaller = beats.map((beat): Beat => {
    const { action } = beat;
    if (action.kind !== 'act') return beat;
    const words = action.words.map((word) => (NUMBER.test(word) ? String(1 + inOrder.indexOf(`${action.verb} ${Number(word)}`)) : word));
    return { ...beat, action: { ...action, words } };
  });
  return inOrder.length > 0 && passes(smaller) ? smaller : beats;
}

/** Nothing, then spans near this one, the roundest first. */
function rounderSpans(us: number): number[] {
  if (us === 0) return [];
  const round = UNITS_US.flatMap((unit) => [Math.floor(us / unit) * unit, Math.ceil(us / unit) * unit]);
  return [...new Set([0, ...round])].filter((span) => span !== us);
}

function durationOf(word: string): number | null {
  if (!/^\d/.test(word)) return null;
  try {
    return parseDuration(word);
  } catch (error) {
    if (error instanceof TenureError) return null;
    throw error;
  }
}
