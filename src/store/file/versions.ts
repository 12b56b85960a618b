/**
 * Registers with compare-and-set on a directory, by exclusive creation and nothing else: no lock files, no times.
 *
 * A key is the directory `keys/KEY`. In it is one directory with a name that is never used again, a *life* of the key,
 * and in that the versions `0000000000000001`, `0000000000000002` …, the highest of which counts. A version is written
 * whole under another name and then linked into place: one of several that try the same number wins.
 *
 * - *Old versions* are deleted, lowest first, by the maker of a newer version; the highest never is, so a reader always finds one.
 * - *Holes.* A process that was asleep since it read version 5 may link version 6 after it was made, overtaken and deleted. So
 *   a process that has linked looks whether a higher version exists, and asks that one's marks whether its own came before it.
 * - *Erasing* makes a last version that says so; nothing is ever linked above it. Then the life is moved away as a whole,
 *   and a sleeper's calls on it fail, because its name is gone for good. The next life is renamed into place, which
 *   succeeds only where there is none.
 * - *Lowest first* is a rule to rely on: version 6 was deleted only after version 5. A process that has linked 6 on top of a 5 that it made itself, and finds that
 *   very file still in its place, has filled no hole and need not look for higher versions.
 * - *A known version* need not be read again. The highest version of a life is the same that was read, if it still is the highest: it was never
 *   deleted. So a read looks at the names only, and a swap on a known version is tried at once, like a sleeper's.
 */
import { join } from 'node:path';
import { equalValues } from '../contract.ts';
import { storeUnreachable } from '../failures.ts';
import { Unanswered, type Call } from '../gate.ts';
import { corrupt, isUnreadableRecord } from '../record.ts';
import { Drafts } from './drafts.ts';
import { afterTheFact } from './errno.ts';
import { fileNameOf, isHashed, keyOfFileName, uniqueName } from './layout.ts';
import type { Place } from './place.ts';
import { decodeVersion, encodeVersion, isPartOf, nextVersion, type FileVersion } from './version-file.ts';

const DIGITS = 16;
const VERSION_NAME = /^\d{16}$/;
const LIFE_NAME = /^[0-9a-f]{18}$/;
/** A reader that is overtaken looks again. So often in a row is no bad luck: something is broken. */
const LOOKS_MAX = 10_000;

/** The newest version of a key, and the directory it is in. */
interface Found {
  readonly life: string;
  readonly version: FileVersion;
  /** All versions before it were deleted. Files that others may have put in their places since were never versions. */
  readonly isAlone?: boolean;
}

type Try = 'landed' | 'taken';

interface Standing {
  readonly standing: 'highest' | 'past' | 'overtaken';
  /** The names in the directory of the life. */
  readonly names: readonly string[];
}

/** How many keys are known at most, and how long a value is that is worth it. */
const KNOWN_MAX = 256;
const KNOWN_BYTES_MAX = 4096;

export class VersionFiles {
  readonly #place: Place;
  /** The newest version that this process has seen, by file name. There may be a newer one. */
  readonly #known = new Map<string, Found>();
  readonly #drafts: Drafts;

  constructor(place: Place) {
    this.#place = place;
    this.#drafts = new Drafts(place.layout, place.disk);
  }

  async close(): Promise<void> {
    await this.#drafts.close();
  }

  async read(key: string, call: Call): Promise<Uint8Array | null> {
    const fileName = fileNameOf(key);
    const value = ((await this.#unchanged(fileName, call)) ?? (await this.#find(fileName, call)))?.version.value ?? null;
    if (value === null) await this.#place.assure();
    return value?.slice() ?? null;
  }

  /** `seen` undefined: whatever is there. */
  async change(key: string, seen: Uint8Array | null | undefined, next: Uint8Array | null, call: Call): Promise<'won' | 'lost'> {
    const fileName = fileNameOf(key);
    if (seen && (await this.#changeKnown(fileName, seen, next, call))) return 'won';
    for (;;) {
      const found = await this.#find(fileName, call);
      const current = found?.version.value ?? null;
      if (current === null) await this.#place.assure();
      if (seen !== undefined && !equalValues(current, seen)) return 'lost';
      if (current === null && next === null) return 'won';
      if (found && current === null) await this.#bury(fileName, found.life);
      const tried = found && current !== null ? await this.#append(fileName, found, next, call) : await this.#begin(key, next, call);
      if (tried === 'landed') return 'won';
      call.returned();
    }
  }

  /** Keys of the directory that `wanted` picks, in no order; erased keys are left out. */
  async keys(wanted: (key: string) => boolean, call: Call): Promise<string[]> {
    const keys: string[] = [];
    for (const fileName of (await this.#place.disk.namesIn(this.#place.layout.keys)) ?? []) {
      const told = keyOfFileName(fileName);
      if (told === null ? !isHashed(fileName) : !wanted(told)) continue;
      const key = await this.#keyIn(fileName, told, call);
      if (key !== null && wanted(key)) keys.push(key);
    }
    return keys;
  }

  /** The key of a directory, null if it was erased. A damaged key is there: its readers are told so. */
  async #keyIn(fileName: string, told: string | null, call: Call): Promise<string | null> {
    try {
      const found = await this.#find(fileName, call);
      return found?.version.value ? found.version.key : null;
    } catch (error) {
      if (told === null || !isUnreadableRecord(error)) throw error;
      return told;
    }
  }

  /** The known version of a key, if it is still the newest. */
  async #unchanged(fileName: string, call: Call): Promise<Found | null> {
    const known = this.#known.get(fileName);
    if (!known) return null;
    call.goOn();
    const highest = highestOf((await this.#place.disk.namesIn(known.life)) ?? []);
    return highest === nameOf(known.version.number) ? known : null;
  }

  /** A swap on the known version, without a look. False if it did not come to be. */
  async #changeKnown(fileName: string, seen: Uint8Array, next: Uint8Array | null, call: Call): Promise<boolean> {
    const known = this.#known.get(fileName);
    if (!known || !equalValues(known.version.value, seen)) return false;
    try {
      if ((await this.#append(fileName, known, next, call)) === 'landed') return true;
    } catch (error) {
      if (call.hasLeft) throw error;
      // Nothing has happened: a swap that looks first finds out why not.
    }
    call.returned();
    return false;
  }

  #know(fileName: string, found: Found): Found {
    this.#known.delete(fileName);
    if (found.version.value === null || found.version.value.length > KNOWN_BYTES_MAX) return found;
    this.#known.set(fileName, found);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX) break;
      this.#known.delete(oldest);
    }
    return found;
  }

  async #find(fileName: string, call: Call): Promise<Found | null> {
    this.#known.delete(fileName);
    const directory = join(this.#place.layout.keys, fileName);
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      call.goOn();
      const lives = ((await this.#place.disk.namesIn(directory)) ?? []).filter((name) => LIFE_NAME.test(name));
      if (lives.length === 0) return null;
      if (lives.length > 1) throw corrupt(fileName, `there are ${lives.length} lives of it, and one is the rule`);
      const life = join(directory, lives[0] ?? '');
      const newest = await this.#newest(fileName, life);
      // Moved away since, or deleted since: what took its place is there now.
      if (newest?.version) return this.#know(fileName, { life, version: newest.version });
    }
    throw corrupt(fileName, 'it has no version that can be opened');
  }

  /** The highest version in the directory of a life; none if it was deleted while it was looked at, null if nothing is there. */
  async #newest(fileName: string, life: string): Promise<{ version: FileVersion | null } | null> {
    const highest = highestOf((await this.#place.disk.namesIn(life)) ?? []);
    if (highest === null) return null;
    const bytes = await this.#place.disk.content(join(life, highest));
    // A file that is no version any more may be written again while it is read. A file that is still the highest was the same all the time.
    if (bytes === null || !(await this.#isHighest(life, highest))) return { version: null };
    const version = decodeVersion(fileName, bytes);
    if (version.number !== Number(highest)) throw corrupt(fileName, `version ${highest} says that it is ${version.number}`);
    return { version };
  }

  async #isHighest(life: string, name: string): Promise<boolean> {
    return this.#place.disk.isSynced || highestOf((await this.#place.disk.namesIn(life)) ?? []) === name;
  }

  /** A version on top of the version that was found. */
  async #append(fileName: string, found: Found, value: Uint8Array | null, call: Call): Promise<Try> {
    const { life, version } = found;
    const next = nextVersion(version.key, version, value);
    const draft = await this.#drafts.write(encodeVersion(fileName, next));
    let tidying: Promise<void> = Promise.resolve();
    try {
      call.leave();
      const name = join(life, nameOf(next.number));
      if (!(await this.#named(draft.path, name))) return 'taken';
      const { standing, names } = (await this.#isOnTop(found, value)) ?? (await this.#standing(fileName, life, next));
      if (standing === 'overtaken') return 'taken';
      // Only a draft that is a version may be taken for one later: a file in a hole has such a name, too.
      draft.version = name;
      // The change counts by now, whatever becomes of the rest.
      if (standing === 'highest') tidying = value === null ? this.#buryLater(fileName, life) : this.#clean(fileName, life, names, next);
      return 'landed';
    } finally {
      await Promise.all([tidying, this.#drafts.done(draft)]);
    }
  }

  /** The short way to know that a version that was linked is no hole; null if it does not lead there. A synced store goes the long way. */
  async #isOnTop({ life, version, isAlone }: Found, value: Uint8Array | null): Promise<Standing | null> {
    if (this.#place.disk.isSynced || isAlone !== true || value === null) return null;
    const below = nameOf(version.number);
    try {
      return (await this.#drafts.isNamed(join(life, below))) ? { standing: 'highest', names: [below] } : null;
    } catch {
      return null;
    }
  }

  async #named(draft: string, as: string): Promise<boolean> {
    try {
      return await this.#place.disk.name(draft, as);
    } catch (error) {
      throw afterTheFact(this.#place.url, error);
    }
  }

  /** What became of a version that was linked: it counts, it counted once, or it filled a hole and never counted. */
  async #standing(fileName: string, life: string, linked: FileVersion): Promise<Standing> {
    try {
      await this.#place.disk.syncDirectory(life);
      const names = await this.#place.disk.calls.readdir(life);
      if (highestOf(names) === nameOf(linked.number)) return { standing: 'highest', names };
      const later = await this.#later(fileName, life);
      const isPart = later && isPartOf(later, linked);
      if (isPart !== null) return { standing: isPart ? 'past' : 'overtaken', names };
    } catch (error) {
      throw new Unanswered(storeUnreachable(this.#place.url, error));
    }
    throw new Unanswered(
      storeUnreachable(this.#place.url, new Error(`${fileName} has changed too often since to tell what became of this change`)),
    );
  }

  async #later(fileName: string, life: string): Promise<FileVersion | null> {
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const newest = await this.#newest(fileName, life);
      if (newest === null || newest.version !== null) return newest?.version ?? null;
    }
    return null;
  }

  /** The first version of a new life. */
  async #begin(key: string, value: Uint8Array | null, call: Call): Promise<Try> {
    const fileName = fileNameOf(key);
    const { disk, layout } = this.#place;
    const [draft, directory, name] = [layout.unique(), join(layout.keys, fileName), uniqueName()];
    const life = join(draft, name);
    const first = nextVersion(key, null, value);
    let isMoved = false;
    try {
      await disk.makeDirectory(draft);
      await disk.makeDirectory(life);
      await disk.put(join(life, nameOf(first.number)), encodeVersion(fileName, first));
      await disk.syncDirectory(life);
      await disk.syncDirectory(draft);
      call.leave();
      isMoved = await this.#moved(draft, directory);
      if (!isMoved) return 'taken';
    } finally {
      if (!isMoved) await disk.discardTree(draft);
    }
    this.#know(fileName, { life: join(directory, name), version: first });
    await this.#syncDirectory(layout.keys);
    return 'landed';
  }

  async #moved(draft: string, to: string): Promise<boolean> {
    try {
      return await this.#place.disk.move(draft, to);
    } catch (error) {
      throw afterTheFact(this.#place.url, error);
    }
  }

  async #syncDirectory(directory: string): Promise<void> {
    try {
      await this.#place.disk.syncDirectory(directory);
    } catch (error) {
      throw new Unanswered(storeUnreachable(this.#place.url, error));
    }
  }

  /** Lowest first: a process that is killed here, or may not delete a version, leaves no version below a hole. */
  async #clean(fileName: string, life: string, names: readonly string[], newest: FileVersion): Promise<void> {
    this.#know(fileName, { life, version: newest });
    for (const name of names.filter((each) => VERSION_NAME.test(each) && Number(each) < newest.number).sort()) {
      const path = join(life, name);
      const discarded = await this.#place.disk.discard(path);
      if (discarded === 'left') return;
      if (discarded === 'taken') this.#drafts.freed(path);
    }
    if (this.#known.get(fileName)?.version === newest) this.#know(fileName, { life, version: newest, isAlone: true });
  }

  async #buryLater(fileName: string, life: string): Promise<void> {
    this.#known.delete(fileName);
    await this.#bury(fileName, life).catch(() => undefined);
  }

  /** Takes a life away that has ended. Only this life is meant: its name tells it from any that comes after. */
  async #bury(fileName: string, life: string): Promise<void> {
    const grave = this.#place.layout.unique();
    await this.#place.disk.move(life, grave);
    await this.#place.disk.discardEmpty(join(this.#place.layout.keys, fileName));
    await this.#place.disk.discardTree(grave);
  }
}

function nameOf(version: number): string {
  return String(version).padStart(DIGITS, '0');
}

function highestOf(names: readonly string[]): string | null {
  let highest: string | null = null;
  for (const name of names) if (VERSION_NAME.test(name) && (highest === null || name > highest)) highest = name;
  return highest;
}
