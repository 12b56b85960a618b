/**
 * A core made of three: two toy leases and a client of shared storage, with an own record on its disk. It takes the left lease, then the right one,
 * then writes down that it has both. It is here to show that cores inside a core are simulated and staged like any other.
 */
import { NEVER, spanUs, wallUs, type Chooser, type MonoUs, type NodeId } from '../../src/kernel/index.ts';
import {
  earliest,
  NestedCore,
  OWN_DISK,
  ownOp,
  PlainClient,
  ToyCore,
  type Boot,
  type Completion,
  type Core,
  type LaneMessage,
  type RegisterCommand,
  type RegisterEvent,
  type Sender,
  type Snapshot,
  type Step,
  type ToyCommand,
  type ToyEvent,
  type ToyMessage,
} from '../../src/core/index.ts';
import { ExclusionReferee, RegularityReferee, RequestReferee } from '../../src/check/index.ts';
import { lanesCodec, toyCodec } from '../../src/wire/index.ts';
import { noFaults, type Actor, type Desk, type Scenario, type SimProtocol, type StagedProtocol, type User } from '../../src/sim/index.ts';

const TERM_US = 1_000_000;
const LANES = 4;
type Side = 'left' | 'right';
const SIDES: readonly Side[] = ['left', 'right'];

/** In a history each request has a number of its own. */
function numberOf(side: Side, request: number): number {
  return request * 2 + SIDES.indexOf(side);
}

export type PairMessage = LaneMessage<1, ToyMessage> | LaneMessage<2, ToyMessage>;
export type PairCommand =
  | { readonly kind: 'acquire' | 'release'; readonly request: number }
  | { readonly kind: 'register'; readonly command: RegisterCommand };
export type PairEvent =
  | { readonly kind: 'granted'; readonly side: Side; readonly request: number; readonly token: number; readonly deadline: MonoUs }
  | { readonly kind: 'expired'; readonly side: Side; readonly request: number }
  | { readonly kind: 'both'; readonly request: number }
  | { readonly kind: 'register'; readonly event: RegisterEvent };

type PairStep = Step<PairMessage, PairEvent>;
type Lease<Lane extends number> = NestedCore<Lane, ToyMessage, ToyCommand, ToyEvent, PairMessage, PairEvent>;

/** The rule that a mutant lacks. */
export type PairMutant = 'one-lane' | null;

export class PairCore implements Core<PairMessage, PairCommand, PairEvent> {
  readonly #left: Lease<1>;
  readonly #right: Lease<2>;
  readonly #client: NestedCore<3, never, RegisterCommand, RegisterEvent, PairMessage, PairEvent>;
  readonly #mutant: PairMutant;
  #request = 0;

  constructor(members: number, boot: Boot, mutant: PairMutant) {
    const config = { members, term: spanUs(TERM_US) };
    this.#mutant = mutant;
    this.#left = new NestedCore(new ToyCore(config, boot), {
      lane: 1,
      lanes: LANES,
      prefix: 'left/',
      heard: (event, step) => {
        step.emit({ ...event, side: 'left' });
        if (event.kind === 'granted' && event.request === this.#request)
          this.#right.command({ kind: 'acquire', request: event.request }, step);
      },
    });
    this.#right = new NestedCore(new ToyCore(config, boot), {
      lane: 2,
      lanes: LANES,
      prefix: 'right/',
      heard: (event, step) => {
        step.emit({ ...event, side: 'right' });
        if (event.kind === 'granted') step.write(OWN_DISK, 'both', Uint8Array.of(1), ownOp(event.request, LANES));
      },
    });
    this.#client = new NestedCore(new PlainClient(boot), {
      lane: 3,
      lanes: LANES,
      prefix: 'client/',
      heard: (event, step) => step.emit({ kind: 'register', event }),
    });
  }

  get wakeAt(): MonoUs {
    return earliest(this.#left.wakeAt, this.#right.wakeAt);
  }

  start(step: PairStep): void {
    this.#left.start(step);
    this.#right.start(step);
    this.#client.start(step);
  }

  admits(sender: Sender, { lane, message }: PairMessage): boolean {
    return (lane === 1 ? this.#left : this.#right).admits(sender, message);
  }

  receive(from: NodeId, { lane, message }: PairMessage, step: PairStep): void {
    if (lane === 1 || this.#mutant === 'one-lane') this.#left.receive(from, message, step);
    else this.#right.receive(from, message, step);
  }

  command(command: PairCommand, step: PairStep): void {
    switch (command.kind) {
      case 'acquire':
        this.#request = command.request;
        return this.#left.command({ kind: 'acquire', request: command.request }, step);
      case 'release':
        this.#request = 0;
        this.#left.command({ kind: 'release', request: command.request }, step);
        this.#right.command({ kind: 'release', request: command.request }, step);
        return step.erase(OWN_DISK, 'both', ownOp(0, LANES));
      case 'register':
        return this.#client.command(command.command, step);
    }
  }

  wake(step: PairStep): void {
    this.#left.wake(step);
    this.#right.wake(step);
  }

  completed(completion: Completion, step: PairStep): void {
    if (this.#client.completed(completion, step)) return;
    const request = completion.op / LANES;
    if (completion.ok && request > 0 && request === this.#request) step.emit({ kind: 'both', request });
  }

  snapshot(): Snapshot {
    return { request: this.#request, left: this.#left.snapshot(), right: this.#right.snapshot(), client: this.#client.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    const { request, left, right, client } = snapshot as { request: number; left: Snapshot; right: Snapshot; client: Snapshot };
    this.#request = request;
    this.#left.restore(left);
    this.#right.restore(right);
    this.#client.restore(client);
  }
}

export const pair: SimProtocol<PairMessage, PairCommand, PairEvent, null, PairCore> = {
  name: 'pair',
  summary: 'two leases and a register in one core',
  mutants: [{ name: 'one-lane', rule: 'lanes', how: 'Messages of the right lease go to the left one.' }],
  sometimes: [
    { name: 'both', description: 'a node had both leases' },
    { name: 'expiry', description: 'a lease ran out' },
  ],
  codec: lanesCodec<PairMessage>({ 1: toyCodec, 2: toyCodec }),
  plan(chooser: Chooser): Scenario<null> {
    const faults = {
      ...noFaults(),
      stallEveryUs: chooser.below(2) * TERM_US * 2,
      stallUsMax: TERM_US,
      lateAccessPpm: 50_000,
      weakReads: true,
    };
    return { nodes: 3, units: 2, faults, termUs: TERM_US, safetyUs: 20 * TERM_US, livenessUs: 40 * TERM_US, config: null };
  },
  core: ({ nodes }: Scenario<null>, boot: Boot, mutant: string | null): PairCore => new PairCore(nodes, boot, mutant as PairMutant),
  user: (_scenario: Scenario<null>, _core: PairCore, desk: Desk<PairCommand>): User<PairEvent> => new PairUser(desk),
  referees: () => [new ExclusionReferee(), new RequestReferee(), new RegularityReferee()],
  isVote: () => false,
  describeMessage: ({ lane, message }: PairMessage): string => `${message.kind}(${lane === 1 ? 'left' : 'right'} ${message.request})`,
  describeCommand: (command: PairCommand): string => command.kind,
  describeEvent: (event: PairEvent): string => event.kind,
  nodeName: (_scenario: Scenario<null>, node: number): string => `n${node}`,
};

/** What users and actors tell the history alike. */
class PairHolds {
  readonly #desk: Desk<PairCommand>;
  readonly #tokens = new Map<Side, number>();
  readonly #registers = new Map<number, string>();
  #ops = 0;

  constructor(desk: Desk<PairCommand>) {
    this.#desk = desk;
  }

  get isHolding(): boolean {
    return this.#tokens.size > 0;
  }

  ask(request: number): void {
    for (const side of SIDES) this.#desk.requested(side, numberOf(side, request));
    this.#desk.command({ kind: 'acquire', request });
  }

  release(request: number): void {
    for (const side of SIDES) this.#over(side, 'released');
    this.#desk.command({ kind: 'release', request });
  }

  register(kind: 'read' | 'write', unit: number): void {
    const op = ++this.#ops;
    const name = `${unit}/k`;
    this.#registers.set(op, name);
    if (kind === 'read') {
      this.#desk.record({ kind: 'invoked', register: name, op, action: 'read' });
      this.#desk.command({ kind: 'register', command: { kind, unit, key: 'k', op } });
      return;
    }
    const value = `${this.#desk.incarnation}.${op}`;
    this.#desk.record({ kind: 'invoked', register: name, op, action: 'write', value });
    const bytes = Uint8Array.from(value, (character) => character.charCodeAt(0));
    this.#desk.command({ kind: 'register', command: { kind, unit, key: 'k', op, value: bytes } });
  }

  event(event: PairEvent): void {
    if (event.kind === 'granted') {
      this.#tokens.set(event.side, event.token);
      this.#desk.granted(event.side, numberOf(event.side, event.request), event.token, {
        monoUs: event.deadline,
        wallUs: wallUs(Infinity),
      });
    } else if (event.kind === 'expired') {
      this.#over(event.side, 'lost');
    } else if (event.kind === 'register') {
      const { event: told } = event;
      const name = this.#registers.get(told.op) ?? '';
      if (told.kind === 'written') this.#desk.record({ kind: 'responded', register: name, op: told.op });
      else if (told.kind === 'found') {
        const value = told.value && String.fromCharCode(...told.value);
        this.#desk.record({ kind: 'responded', register: name, op: told.op, value });
      }
    }
  }

  #over(side: Side, reason: 'released' | 'lost'): void {
    const token = this.#tokens.get(side);
    if (token !== undefined) this.#desk.ended(side, token, reason);
    this.#tokens.delete(side);
  }
}

const GIVE_BACK = 0;

class PairUser implements User<PairEvent> {
  readonly #desk: Desk<PairCommand>;
  readonly #holds: PairHolds;
  #request = 0;

  constructor(desk: Desk<PairCommand>) {
    this.#desk = desk;
    this.#holds = new PairHolds(desk);
  }

  start(): void {
    this.#askLater();
  }

  event(event: PairEvent): void {
    this.#holds.event(event);
    const desk = this.#desk;
    if (event.kind === 'expired') desk.sometimes('expiry');
    if (event.kind !== 'both' || event.request !== this.#request) return;
    desk.sometimes('both');
    this.#holds.register('write', desk.choose(2));
    this.#holds.register('read', desk.choose(2));
    desk.after(desk.choose(TERM_US * 2), GIVE_BACK);
    if (desk.healed) desk.done();
  }

  timer(tag: number): void {
    if (tag === GIVE_BACK || tag === this.#request) {
      for (const side of SIDES) this.#desk.abandoned(side, numberOf(side, this.#request));
      this.#holds.release(this.#request);
      this.#askLater();
    } else if (tag === -1) {
      this.#holds.ask(++this.#request);
      this.#desk.after(TERM_US * 3, this.#request);
    }
  }

  healed(): void {}

  waitingFor(): string {
    return 'both leases';
  }

  #askLater(): void {
    this.#desk.after(this.#desk.choose(TERM_US), -1);
  }
}

export const pairStaging: StagedProtocol<PairMessage, PairCommand, PairEvent, null, PairCore> = {
  protocol: pair,
  defaults: {},
  verbs: ['acquire NODE', 'release NODE', 'read NODE', 'write NODE'],
  scenario: () => ({ nodes: 3, units: 2, faults: noFaults(), termUs: TERM_US, safetyUs: 0, livenessUs: 0, config: null }),
  nodeName: (_scenario: Scenario<null>, node: number): string => 'abc'[node] ?? '?',
  actor: (_scenario: Scenario<null>, _core: PairCore, desk: Desk<PairCommand>): Actor<PairEvent> => {
    const holds = new PairHolds(desk);
    let request = 0;
    return {
      wakeAt: NEVER,
      act(verb): void {
        if (verb === 'acquire') holds.ask(++request);
        else if (verb === 'release') holds.release(request);
        else holds.register(verb === 'read' ? 'read' : 'write', 0);
      },
      event: (event) => holds.event(event),
      snapshot: () => request,
      restore: (snapshot) => void (request = snapshot as number),
    };
  },
};
