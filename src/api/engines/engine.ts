/**
 * What a cell needs of an engine: a core that runs, the timing it keeps, what members must agree on, and what it
 * can do. Everything that is particular to one engine is an `EngineKind`, in a file of its own; `index.ts` lists them.
 */
import type { Boot, Core, Keeps, LeaseCommand, LeaseEvent, MemberLimits, Sender, SuccessionMode, Timing, View } from '../../core/index.ts';
import type { Chooser, HashKey, MonoUs, NodeId, TenureError } from '../../kernel/index.ts';
import { Driver, type ClockNotice, type Clocks, type Disk, type Link } from '../../runtime/index.ts';
import type { Codec } from '../../wire/index.ts';
import type { LeaseAbilities, LeaseCore, LeaseEngine } from '../leases/engine.ts';
import type { TermOptions } from './terms.ts';

/** One engine that a cell can have. `Options` is what a caller may choose of it. */
export interface EngineKind<Options extends object> {
  readonly name: string;
  /** What its options are called. One without options is chosen by its name, the others by `{ name: options }`. */
  readonly options: readonly (keyof Options & string)[];
  /** How it is written as text; the first is the example that help shows. */
  readonly texts: readonly string[];
  /** How it is written if it shall compare no wall clocks; null if it always does. */
  readonly clockless: string | null;
  /** From the parts of its text: what stands after the name, and a skew. Null if it has no such variant. */
  parse(variant: string | undefined, skew: { skew?: string }): Options | null;
  /** The chosen options, as text, if they need a skew and have none. */
  lackingSkew(options: Options): string | null;
  /** Throws what cannot work. */
  make(options: Options, terms: TermOptions): Engine;
}

/** What not every engine can do for its cell. */
export interface CellAbilities extends LeaseAbilities {
  /** Members say how they stand. Where they do not, only connections are known. */
  readonly status: boolean;
  readonly bootstrap: boolean;
  readonly dataDir: boolean;
  /** Members, voters and terms change while it runs. */
  readonly views: boolean;
}

/** An engine as it was chosen, with its timing. */
export interface Engine extends LeaseEngine {
  /** With its parameters, as `parseEngine` reads it and members state it in the handshake. The same engine has always the same text. */
  readonly text: string;
  readonly timing: Timing;
  /** How far clocks may be apart; 0 where that does not matter. */
  readonly skewUs: number;
  readonly can: CellAbilities;
  run(ground: EngineGround): RunningEngine;
}

/** The view that a node begins in. */
export interface StartView {
  readonly view: View;
  /** Its next start begins there, too, or higher. */
  readonly isStored: boolean;
}

/** Where a core runs. */
export interface EngineGround {
  readonly memberKeys: readonly number[];
  readonly replication: number;
  readonly boot: Boot;
  /** The view to begin in, where the engine has any. */
  readonly start: StartView | undefined;
  readonly keeps: Keeps;
  readonly succession: SuccessionMode;
  readonly link: Link;
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  readonly hashKey: HashKey;
  readonly limits?: MemberLimits | undefined;
  readonly disk: Disk | undefined;
  /** The identity that a peer has proved; undefined for a peer that is not connected. */
  readonly senderOf: (peer: NodeId) => Sender | undefined;
  readonly onClockNotice: ClockNotice;
  readonly onEvent: (event: LeaseEvent) => void;
  readonly onFailure: (error: TenureError) => void;
}

/** The driver of whichever core it is. */
type CellDriver = Pick<
  Driver<unknown, LeaseCommand, LeaseEvent>,
  'command' | 'receive' | 'start' | 'stop' | 'isStopped' | 'monoUs' | 'clockCounts'
>;

/** What an engine whose members change tells and needs to be told. */
export interface CellViews {
  /** In which view this node asks. */
  readonly view: View;
}

export interface CellCore extends LeaseCore {
  /** How long this member still gives no vote. */
  silentForUs(mono: MonoUs): number;
}

export interface RunningEngine {
  readonly driver: CellDriver;
  readonly core: CellCore;
  /** Null where the members of a cell cannot change. */
  readonly views: CellViews | null;
}

/** `codec` is called once for each side: messages to oneself are decoded while others may be in use. */
export function drive<Message>(
  ground: EngineGround,
  core: Core<Message, LeaseCommand, LeaseEvent> & CellCore,
  codec: () => Codec<Message>,
  views: CellViews | null = null,
): RunningEngine {
  return { core, views, driver: new Driver({ ...ground, core, codec: codec(), ownCodec: codec(), self: ground.boot.self }) };
}
