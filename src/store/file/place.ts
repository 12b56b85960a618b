/** What both ways of keeping registers in a directory are given. */
import type { DurableFiles } from './disk.ts';
import type { Layout } from './layout.ts';

export interface Place {
  readonly url: string;
  readonly layout: Layout;
  readonly disk: DurableFiles;
  /** Throws if the directory is no longer the store. Asked before "nothing there" is believed. */
  readonly assure: () => Promise<void>;
}
