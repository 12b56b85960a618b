/**
 * One run of Figure 5 of the paper on asynchronous leasing: instances of consensus one after another, in communication steps. Every message takes one unit of time and delivery to oneself
 * none, so the time that an instance takes is the number of its steps. Nothing fails but what the plan says. The members are real cores, of the papers' model.
 */
import { incarnation, invariant, monoUs, NEVER, nodeId, spanUs, wallUs, type MonoUs, type NodeId } from '../../kernel/index.ts';
import {
  ConsensusCore,
  FastCtCore,
  type Boot,
  type ConsensusCommand,
  type ConsensusConfig,
  type ConsensusEvent,
  type ConsensusMessage,
  type Core,
  type FastCtEvent,
  type FastCtMessage,
  type LambdaChoice,
  type Step,
} from '../../core/index.ts';
import { COMPLETE, DELIVER, EventQueue, WAKE } from '../event-queue.ts';
import { Parked } from '../parked.ts';

/** The unit of time of the figure: how long a message takes. */
const STEP_US = 1_000_000;
const MEMBERS = 5;
/** Far longer than any instance: in a stable period no member suspects another, and heartbeats cost no steps. */
const HEARTBEAT_US = 1000 * STEP_US;
const TIMEOUT_US = 4 * HEARTBEAT_US;

export interface StepsPlan {
  readonly algorithm:
    | { readonly kind: 'ct96'; readonly shortcut: boolean }
    | { readonly kind: 'fastct'; readonly lambda: LambdaChoice; readonly isLiteralInterval: boolean; readonly asksAhead: boolean };
  readonly instances: number;
  /** Before these instances the leader crashes, and the others notice. */
  readonly crashesBefore: readonly number[];
}

type AnyMessage = ConsensusMessage | FastCtMessage;
type AnyEvent = ConsensusEvent | FastCtEvent;

/** A core of either kind: each gets only what others of its kind have sent. */
type Member = Core<AnyMessage, Extract<ConsensusCommand, { kind: 'propose' }>, AnyEvent> & { readonly leader: number };

const CONFIG: Omit<ConsensusConfig, 'mode'> = {
  members: MEMBERS,
  keeps: 'crash-stop',
  window: 1,
  kept: 1,
  detector: { heartbeatUs: spanUs(HEARTBEAT_US), timeoutUs: spanUs(TIMEOUT_US) },
  retryUs: null,
};

/** How many steps each instance took, until all members that are up had decided. */
export function countSteps(plan: StepsPlan): number[] {
  const run = new StepsRun(plan);
  const steps: number[] = [];
  for (let instance = 1; instance <= plan.instances; instance++) {
    if (plan.crashesBefore.includes(instance)) run.crashLeader();
    steps.push(run.decide(instance));
  }
  return steps;
}

class StepsRun implements Step<AnyMessage, AnyEvent> {
  monoUs: MonoUs = monoUs(0);
  readonly wallUs: ReturnType<typeof wallUs> = wallUs(0);
  readonly #queue = new EventQueue();
  readonly #messages = new Parked<{ readonly from: NodeId; readonly message: AnyMessage }>();
  readonly #members: Member[];
  readonly #isUp: boolean[];
  readonly #decided: number[];
  #running = 0;

  constructor({ algorithm }: StepsPlan) {
    this.#isUp = Array.from({ length: MEMBERS }, () => true);
    this.#decided = Array.from({ length: MEMBERS }, () => 0);
    this.#members = Array.from({ length: MEMBERS }, (_, self) => {
      const boot: Boot = { self: nodeId(self), incarnation: incarnation(self + 1), restarted: false, diskKept: false };
      return algorithm.kind === 'ct96'
        ? new ConsensusCore({ ...CONFIG, mode: { kind: 'chandra-toueg', shortcut: algorithm.shortcut } }, boot)
        : new FastCtCore({ ...algorithm, consensus: CONFIG, rttUs: 2 * STEP_US }, boot);
    });
    for (let member = 0; member < MEMBERS; member++) this.#do(member, (core) => core.start(this));
    this.#runFor(STEP_US);
  }

  /** All members that are up propose at once. */
  decide(instance: number): number {
    const beganUs = this.monoUs;
    for (let member = 0; member < MEMBERS; member++) {
      const value = Uint8Array.of(member);
      if (this.#isUp[member]) this.#do(member, (core) => core.command({ kind: 'propose', instance, value }, this));
    }
    const isOver = (): boolean => this.#decided.every((decided, member) => !this.#isUp[member] || decided >= instance);
    while (!isOver()) this.#next();
    const steps = (this.monoUs - beganUs) / STEP_US;
    invariant(Number.isSafeInteger(steps), 'an instance takes whole steps');
    return steps;
  }

  /** The others suspect it, agree on another leader, and all is quiet again. */
  crashLeader(): void {
    const up = this.#members.find((_, member) => this.#isUp[member]);
    this.#isUp[up?.leader ?? 0] = false;
    this.#runFor(4 * TIMEOUT_US);
  }

  // ── Step ───────────────────────────────────────────────────────────────────────────────────────────

  send(to: NodeId, message: AnyMessage): void {
    const latencyUs = to === this.#running ? 0 : STEP_US;
    this.#queue.schedule(
      this.monoUs + latencyUs,
      DELIVER,
      to,
      this.#messages.park({ from: nodeId(this.#running), message: kept(message) }),
    );
  }

  emit(event: AnyEvent): void {
    if (event.kind === 'decided') this.#decided[this.#running] = event.instance;
  }

  /** No node rests at random without contention. */
  choose(): number {
    return 0;
  }

  read(): void {}
  write(): void {}
  swap(): void {}
  erase(): void {}
  list(): void {}

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  #runFor(durationUs: number): void {
    const endUs = this.monoUs + durationUs;
    let isOver = false;
    this.#queue.schedule(endUs, COMPLETE, 0, 0);
    while (!isOver) isOver = this.#next() === COMPLETE;
  }

  #next(): number {
    const queue = this.#queue;
    invariant(queue.take(), 'nothing happens any more, and not all have decided');
    this.monoUs = monoUs(queue.at);
    const { kind, target, ref } = queue;
    if (kind === DELIVER) {
      const { from, message } = this.#messages.take(ref);
      if (this.#isUp[target]) this.#do(target, (core) => core.receive(from, message, this));
    } else if (kind === WAKE && this.#isUp[target] && (this.#members[target] as Member).wakeAt <= this.monoUs) {
      this.#do(target, (core) => core.wake(this));
    }
    return kind;
  }

  #do(member: number, act: (core: Member) => void): void {
    const core = this.#members[member] as Member;
    this.#running = member;
    act(core);
    if (core.wakeAt !== NEVER) this.#queue.schedule(Math.max(core.wakeAt, this.monoUs), WAKE, member, 0);
  }
}

/** Lanes use one record for all their messages. The message in it is made anew for each, and bytes of values are never changed. */
function kept(message: AnyMessage): AnyMessage {
  return 'lane' in message ? { ...message } : message;
}
