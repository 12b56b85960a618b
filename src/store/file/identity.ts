/**
 * The file `tenure.store`: which store a directory is, and how it is kept. It is linked into place once. A directory without it,
 * where there should be one, is a mount that is not there, or a directory that was wiped.
 */
import { randomUUID } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { conflicting, storeReplaced, unfit, storeUnreachable } from '../failures.ts';
import { corrupt, laterFormat, openJson, sealJson } from '../record.ts';
import { DurableFiles } from './disk.ts';
import type { Layout } from './layout.ts';

export interface DirectoryIdentity {
  readonly id: string;
  /** `versions` can compare and set, `registers` is for file systems that cannot be trusted with that. */
  readonly keeping: 'versions' | 'registers';
  readonly isSynced: boolean;
}

/** What the URL asked for; undefined where it said nothing. */
export interface DirectoryWishes {
  readonly swap: boolean | undefined;
  readonly sync: boolean | undefined;
}

const KEY = 'tenure.store';
const FORMAT = 1;

/** Where another machine is behind it, or may be: NFS, SMB (three dialects), 9P, Ceph, Lustre, GFS2, OCFS2, AFS, anything in user space. */
const SHARED_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0xff534d42, 0xfe534d42, 0x517b, 0x01021997, 0x00c36400, 0x0bd00bd0, 0x01161970, 0x7461636f, 0x5346414f, 0x65735546,
]);

/**
 * File systems without another machine behind them, on Linux: ext, XFS, Btrfs, ZFS, F2FS, bcachefs, tmpfs, ramfs, overlay. A file system in neither list is not trusted
 * to answer soon.
 */
const OWN_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
]);

/** Before the file system of a directory is known, no call to it is waited for on the thread of the caller. */
export const UNKNOWN_DISK: DurableFiles = new DurableFiles({ isSynced: true, isOfThisMachine: false });

/** Null if there is none yet. */
export async function readIdentity(url: string, layout: Layout, disk: DurableFiles = UNKNOWN_DISK): Promise<DirectoryIdentity | null> {
  const bytes = await disk.content(layout.identity);
  if (bytes !== null) return parse(bytes);
  const names = await disk.namesIn(layout.root);
  if (names === null) throw storeUnreachable(url, new Error(`there is no directory ${layout.root}; is it mounted?`));
  const kept = await disk.namesIn(layout.keys);
  if (kept === null || kept.length === 0) return null;
  // Another process may have set it up since, and used it.
  const since = await disk.content(layout.identity);
  if (since === null) throw corrupt(KEY, `it is gone, though ${layout.root} holds records`);
  return parse(since);
}

/** Makes the directory a store. If another process is first, its identity counts. */
export async function createIdentity(
  url: string,
  layout: Layout,
  wishes: DirectoryWishes,
  isExplicit: boolean,
): Promise<DirectoryIdentity> {
  const names = (await UNKNOWN_DISK.namesIn(layout.root)) ?? [];
  const theirs = names.includes(KEY) ? await readIdentity(url, layout) : null;
  if (theirs) return theirs;
  const others = names.filter((name) => !['keys', 'new', 'lost+found'].includes(name));
  if (others.length > 0) throw unfit(url, `the directory is not empty (${others.slice(0, 3).join(', ')}): give the store one of its own`);
  const isShared = await isSharedFileSystem(layout.root);
  const keeping = (wishes.swap ?? !isShared) ? 'versions' : 'registers';
  if (keeping === 'registers' && !isExplicit) {
    throw conflicting(url, `nobody has set it up, and plain registers cannot be created exclusively: run tenure store init ${url} once`);
  }
  const identity: DirectoryIdentity = { id: randomUUID(), keeping, isSynced: wishes.sync ?? true };
  const disk = new DurableFiles({ isSynced: identity.isSynced, isOfThisMachine: false });
  await disk.makeDirectory(layout.keys);
  await disk.makeDirectory(layout.fresh);
  const draft = layout.unique();
  try {
    await disk.put(draft, sealJson(KEY, 'identity', { format: FORMAT, ...identity }));
    await disk.name(draft, layout.identity);
    await disk.syncDirectory(layout.root);
  } finally {
    await disk.discard(draft);
  }
  const made = await readIdentity(url, layout);
  if (!made) throw storeReplaced(url, 'the directory was emptied while it was set up');
  return made;
}

/** Throws unless the directory may be used as its identity says, and as the URL wishes. */
export async function checkIdentity(url: string, layout: Layout, identity: DirectoryIdentity, wishes: DirectoryWishes): Promise<void> {
  const swaps = identity.keeping === 'versions';
  if (wishes.swap !== undefined && wishes.swap !== swaps) {
    throw conflicting(
      url,
      `it is kept ${swaps ? 'with' : 'without'} compare-and-set, and swap=${wishes.swap ? 'on' : 'off'} was asked for`,
    );
  }
  if (wishes.sync !== undefined && wishes.sync !== identity.isSynced) {
    throw conflicting(url, `it is kept with sync=${identity.isSynced ? 'on' : 'off'}, and the opposite was asked for`);
  }
  const isShared = await isSharedFileSystem(layout.root);
  if (isShared && !identity.isSynced) throw unfit(url, 'sync=off is for one machine, and this directory is on a shared file system');
  if (isShared && swaps && wishes.swap !== true) {
    throw unfit(
      url,
      'exclusive creation on a shared file system is not trusted; say swap=on if you know that its listings are never stale',
    );
  }
}

/** Which start of the machine this is: without syncing, a restarted machine may have lost acknowledged writes. */
export async function bootId(url: string): Promise<string> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    throw unfit(url, 'sync=off needs to know when the machine was started, and only Linux tells (boot_id)');
  }
}

async function isSharedFileSystem(path: string): Promise<boolean> {
  return SHARED_FILE_SYSTEMS.has((await statfs(path)).type);
}

/** Whether it is certain that no other machine is behind a directory. */
export async function isOfThisMachine(path: string): Promise<boolean> {
  return process.platform === 'linux' && OWN_FILE_SYSTEMS.has((await statfs(path)).type);
}

function parse(bytes: Buffer): DirectoryIdentity {
  const { format, id, keeping, isSynced } = openJson(KEY, 'identity', bytes) as Readonly<Record<string, unknown>>;
  if (typeof format === 'number' && format !== FORMAT) throw laterFormat(KEY, format, FORMAT);
  if (typeof id !== 'string' || typeof isSynced !== 'boolean' || (keeping !== 'versions' && keeping !== 'registers')) {
    throw corrupt(KEY, 'a part of it is missing');
  }
  return { id, keeping, isSynced };
}
