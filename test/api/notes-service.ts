/**
 * A service for tests: numbers by key, kept by a majority of the members. It is as small as a service can be that has calls, messages, timers and records
 * on a disk, and it breaks when it is told to.
 */
import { nodeId, quorumOf, TenureError, monoAfter, NEVER, spanUs, type MonoUs, type NodeId } from '../../src/kernel/index.ts';
import { OWN_DISK, type Completion, type Core, type Sender, type Snapshot, type Step } from '../../src/core/index.ts';
import type { Driver } from '../../src/runtime/index.ts';
import type { ByteReader, ByteWriter, Codec } from '../../src/wire/index.ts';
import { driveService, type RunningService, type MountGround, type ServiceKind } from '../../src/api/services/service.ts';

const KINDS = ['put', 'get', 'kept', 'told'] as const;

interface NoteMessage {
  readonly kind: (typeof KINDS)[number];
  readonly call: number;
  readonly key: number;
  /** 0 is none. */
  readonly value: number;
}

type NoteCommand = NoteMessage | { readonly kind: 'break' };
type NoteEvent = { readonly kind: 'answered'; readonly call: number; readonly value: number } | { readonly kind: 'disk-failed' };
type NoteStep = Step<NoteMessage, NoteEvent>;

const codec: Codec<NoteMessage> = {
  encode({ kind, call, key, value }: NoteMessage, out: ByteWriter): void {
    out.u8(KINDS.indexOf(kind));
    for (const number of [call, key, value]) out.u32(number);
  },
  decode(input: ByteReader): NoteMessage | null {
    const kind = KINDS[input.u8()];
    const [call, key, value] = [input.u32(), input.u32(), input.u32()];
    return kind === undefined || input.failed ? null : { kind, call, key, value };
  },
};

/** Asked again after so long. */
const REPEAT_US = spanUs(20_000);

class NotesCore implements Core<NoteMessage, NoteCommand, NoteEvent> {
  readonly #members: number;
  /** Without a disk it keeps them here. */
  readonly #notes: Map<number, number> | null;
  readonly #calls = new Map<number, { request: NoteMessage; heard: Set<NodeId>; value: number }>();
  readonly #accesses = new Map<number, { from: NodeId; request: NoteMessage }>();
  #nextOp = 1;
  #isFailed = false;
  wakeAt: MonoUs = NEVER;

  constructor(members: number, isDurable: boolean) {
    this.#members = members;
    this.#notes = isDurable ? null : new Map();
  }

  start(): void {}

  admits({ node }: Sender, { kind }: NoteMessage): boolean {
    return node < this.#members || kind === 'put' || kind === 'get';
  }

  command(command: NoteCommand, step: NoteStep): void {
    if (command.kind === 'break') throw new Error('told to break');
    this.#calls.set(command.call, { request: command, heard: new Set(), value: 0 });
    this.wake(step);
  }

  wake(step: NoteStep): void {
    for (const { request, heard } of this.#calls.values()) {
      for (let member = 0; member < this.#members; member++) if (!heard.has(nodeId(member))) step.send(nodeId(member), request);
    }
    this.wakeAt = this.#calls.size > 0 ? monoAfter(step.monoUs, REPEAT_US) : NEVER;
  }

  receive(from: NodeId, message: NoteMessage, step: NoteStep): void {
    const { kind, call, key, value } = message;
    if (this.#isFailed) return;
    if (kind === 'kept' || kind === 'told') {
      const asked = this.#calls.get(call);
      if (asked === undefined) return;
      asked.heard.add(from);
      asked.value = Math.max(asked.value, value);
      if (asked.heard.size < quorumOf(this.#members)) return;
      this.#calls.delete(call);
      step.emit({ kind: 'answered', call, value: asked.value });
    } else if (this.#notes) {
      if (kind === 'put') this.#notes.set(key, value);
      step.send(from, { ...message, kind: kind === 'put' ? 'kept' : 'told', value: this.#notes.get(key) ?? 0 });
    } else {
      const op = this.#nextOp++;
      this.#accesses.set(op, { from, request: { ...message } });
      if (kind === 'put') step.write(OWN_DISK, `note/${key}`, Uint8Array.of(value), op);
      else step.read(OWN_DISK, `note/${key}`, op);
    }
  }

  completed({ op, ok, value }: Completion, step: NoteStep): void {
    const access = this.#accesses.get(op);
    this.#accesses.delete(op);
    if (!ok && !this.#isFailed) step.emit({ kind: 'disk-failed' });
    this.#isFailed ||= !ok;
    if (access === undefined || this.#isFailed) return;
    const { from, request } = access;
    step.send(from, request.kind === 'put' ? { ...request, kind: 'kept' } : { ...request, kind: 'told', value: value?.[0] ?? 0 });
  }

  snapshot(): Snapshot {
    return null;
  }

  restore(): void {}
}

export class NotesService implements RunningService {
  readonly driver: Driver<NoteMessage, NoteCommand, NoteEvent>;
  readonly ground: MountGround;
  readonly reachedPeers: number[] = [];
  readonly #calls = new Map<number, { resolve: (value: number) => void; reject: (error: TenureError) => void }>();
  #nextCall = 1;
  #over: TenureError | null = null;

  constructor(ground: MountGround, isDurable: boolean) {
    this.ground = ground;
    const core = new NotesCore(ground.memberIds.length, isDurable);
    this.driver = driveService(ground, { core, codec: () => codec, onEvent: (event) => this.#hear(event) });
  }

  get isAsked(): boolean {
    return this.#calls.size > 0;
  }

  put(key: number, value: number): Promise<number> {
    return this.#ask('put', key, value);
  }

  /** 0 if nothing is there. */
  get(key: number): Promise<number> {
    return this.#ask('get', key, 0);
  }

  break(): void {
    this.driver.command({ kind: 'break' });
  }

  reached(peer: NodeId): void {
    this.reachedPeers.push(peer);
  }

  fail(error: TenureError): void {
    this.#over = error;
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }

  async #ask(kind: 'put' | 'get', key: number, value: number): Promise<number> {
    if (this.#over) throw this.#over;
    const call = this.#nextCall++;
    const answer = new Promise<number>((resolve, reject) => this.#calls.set(call, { resolve, reject }));
    this.driver.command({ kind, call, key, value });
    return this.ground.alive.during(answer);
  }

  #hear(event: NoteEvent): void {
    if (event.kind === 'disk-failed') {
      this.ground.fail(new TenureError('TENURE_DISK_FAILED', 'notes cannot be written: mend the disk, and start this member again'));
      return;
    }
    this.#calls.get(event.call)?.resolve(event.value);
    this.#calls.delete(event.call);
  }
}

function kindOf(parts: Omit<ServiceKind, 'run' | 'text'>, text: string = parts.name): ServiceKind<NotesService> {
  return { ...parts, text, run: (ground) => new NotesService(ground, parts.disk !== 'none' && ground.disk !== undefined) };
}

/** Kept on disks, and for clients too. */
export const NOTES: ServiceKind<NotesService> = kindOf({
  number: 60,
  name: 'notes',
  disk: 'needed',
  begins: 'at once',
  isForClients: true,
});
/** Members among themselves; nothing is kept. */
export const RUMOURS: ServiceKind<NotesService> = kindOf({
  number: 61,
  name: 'rumours',
  disk: 'none',
  begins: 'at once',
  isForClients: false,
});
/** Kept where there is a disk; it begins when it is asked for. */
export const DIARY: ServiceKind<NotesService> = kindOf({
  number: 62,
  name: 'diary',
  disk: 'used',
  begins: 'asked',
  isForClients: true,
});
export const notesSetAs = (how: string): ServiceKind<NotesService> => kindOf(NOTES, `notes:${how}`);
