/** What is under way for a claim where the store can compare and set. */
import type { MonoUs } from '../../../kernel/index.ts';
import type { KnownRecord } from './claim.ts';
import type { LeaseRecord } from './contents.ts';

interface Does<Kind extends string> {
  readonly kind: Kind;
  readonly ops: readonly number[];
}

interface WithNext {
  readonly next: LeaseRecord;
}

interface WithSeen {
  readonly seen: KnownRecord;
}

export type CasDoing =
  | Does<'idle'>
  | Does<'resting'>
  /** The record: to take it, after a renewal whose outcome is not known, or after such a release. */
  | Does<'reading'>
  | Does<'rereading'>
  | Does<'reading-own'>
  /** The floor, before a record is taken whose token is not known to be above it. */
  | (Does<'reading-floor'> & WithSeen)
  | (Does<'taking'> & WithNext)
  /** The floor, after a record was created where none was. */
  | Does<'checking-floor'>
  | (Does<'renewing'> & WithNext)
  /** The own record is set free. */
  | (Does<'freeing'> & WithNext)
  /** A writer says that it waits for readers. */
  | Does<'wanting'>
  /** The data stored under the lease is read. */
  | Does<'fetching'>
  | (Does<'looking'> & { readonly readMono: MonoUs })
  /** Compaction: the record, the floor under it, and its end. */
  | Does<'finding'>
  | (Does<'finding-floor'> & WithSeen)
  | (Does<'raising-floor'> & WithSeen)
  | Does<'erasing'>;

export type CasDoingOf<Kind extends CasDoing['kind']> = Extract<CasDoing, { kind: Kind }>;
