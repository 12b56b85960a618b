/** What commands may ask for. Bad arguments are thrown before anything has changed; the driver hands them to its caller. */
import { TenureError } from '../../../kernel/index.ts';
import type { LeaseCommand } from '../contract.ts';
import { META_BYTES_MAX } from '../limits.ts';
import type { QuorumConfig } from './config.ts';
import { SLOTS_MAX } from './modes.ts';
import type { QuorumRules } from './rules.ts';

type Acquire = Extract<LeaseCommand, { kind: 'acquire' }>;

export class Checks {
  #maxTermUs: number;
  readonly #metaBytesMax: number;
  readonly #rules: QuorumRules;

  constructor({ timing, metaBytesMax = META_BYTES_MAX }: QuorumConfig, rules: QuorumRules) {
    this.#maxTermUs = timing.maxTermUs;
    this.#metaBytesMax = Math.min(metaBytesMax, META_BYTES_MAX);
    this.#rules = rules;
  }

  /** The longest term of the view. Terms that were allowed before stay allowed: they are asked for as short as the view has it. */
  allow(maxTermUs: number): void {
    this.#maxTermUs = Math.max(this.#maxTermUs, maxTermUs);
  }

  acquire(command: Acquire): void {
    const { termUs, meta, maxHoldUs = Infinity, slots = 0, quarantineUs = 0 } = command;
    this.term(termUs);
    this.meta(meta);
    if (!(maxHoldUs >= 1000)) throw bad(`a lease is held for at least a millisecond; not ${maxHoldUs / 1000}`);
    if (slots !== 0 || quarantineUs !== 0) this.#slots(command);
  }

  term(termUs: number): void {
    if (Number.isInteger(termUs / 1000) && termUs > 0 && termUs <= this.#maxTermUs) return;
    throw bad(`a term is whole milliseconds, at least one and at most ${this.#maxTermUs / 1000}; not ${termUs / 1000}`);
  }

  meta(meta: Uint8Array | undefined): void {
    if (meta === undefined || meta.length <= this.#metaBytesMax) return;
    throw bad(`metadata may have ${this.#metaBytesMax} bytes, not ${meta.length}`);
  }

  /** Members remember no vote for longer than the longest term: use and rest of a slot must fit it together. */
  #slots({ mode = 'exclusive', slots = 0, slot = 0, termUs, quarantineUs = 0 }: Acquire): void {
    if (!(Number.isInteger(slots) && slots >= 1 && slots <= SLOTS_MAX)) throw bad(`there are 1 to ${SLOTS_MAX} slots, not ${slots}`);
    if (mode !== 'exclusive') throw bad('a lease is shared or has a slot, not both');
    if (!(Number.isInteger(slot) && slot >= 0 && slot < slots)) throw bad(`of ${slots} slots, ${slot} is none`);
    const allUs = termUs + quarantineUs;
    if (this.#rules.quarantineFits && !(quarantineUs >= 0 && allUs <= this.#maxTermUs))
      throw bad(`the term and the quarantine together are at most ${this.#maxTermUs / 1000} ms, not ${allUs / 1000}`);
  }
}

function bad(message: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', message);
}
