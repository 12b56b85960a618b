/** The integers of one space, as one process claims them. Granted integers are this process's for ever: no other claim gets any of them, and none is given back. */
import { checkBlockSize, checkSpace } from '../../core/index.ts';
import { checkOptions, type OptionTable } from '../../kernel/index.ts';
import { atCaller } from '../call-stacks.ts';
import type { KeepAlive } from '../../runtime/index.ts';
import type { Services } from '../services/services.ts';
import type { Block } from './block-queue.ts';
import { IdSource } from './ids.ts';
import { CLAIMS } from './kind.ts';
import type { ClaimResult } from './service.ts';

export interface ClaimOptions {
  /** A claim that is given up is withdrawn: its integers can be had by others. */
  readonly signal?: AbortSignal;
}

export interface IdsOptions extends ClaimOptions {
  /** The most ids that are claimed at once: 1048576. What a process has claimed and not used when it ends is a gap. */
  readonly blockMax?: number;
}

const CLAIM_OPTIONS: OptionTable<ClaimOptions> = { signal: 'signal' };
const IDS_OPTIONS: OptionTable<IdsOptions> = { ...CLAIM_OPTIONS, blockMax: 'any' };

export const BLOCK_MAX: number = 2 ** 20;

export class ClaimSpace {
  readonly space: string;
  readonly #services: Services;
  readonly #alive: KeepAlive;

  /** Made by `claims` of a cell. Throws TENURE_BAD_NAME. */
  constructor(space: string, services: Services, alive: KeepAlive) {
    checkSpace(space);
    this.space = space;
    this.#alive = alive;
    this.#services = services;
  }

  /** Claims the integers from `from` to `to`, both included: all of them, or none if another has some of them or claims some at the same time. */
  async claim(from: number, to: number, options: ClaimOptions = {}): Promise<ClaimResult> {
    const { signal } = checkOptions('claim', options, CLAIM_OPTIONS);
    const service = await this.#services.reach(CLAIMS, signal);
    return this.#answerOf(service.claim(this.space, from, to, signal));
  }

  /** A block of so many integers in a row that no other process has or will ever have, wherever they are. */
  async next(size: number, options: ClaimOptions = {}): Promise<Block> {
    const { signal } = checkOptions('next', options, CLAIM_OPTIONS);
    return this.#answerOf(this.#next(size, signal));
  }

  /** Unique ids, from blocks whose size follows demand: in rising order within a block, and in no order across blocks and processes. */
  ids(options: IdsOptions = {}): IdSource {
    const { signal, blockMax = BLOCK_MAX } = checkOptions('ids', options, IDS_OPTIONS);
    checkBlockSize(blockMax);
    return new IdSource({ next: (size, off) => this.#next(size, off), alive: this.#alive, signal, blockMax });
  }

  async #answerOf<T>(asked: Promise<T>): Promise<T> {
    try {
      return await this.#alive.during(asked);
    } catch (error) {
      throw atCaller(error);
    }
  }

  async #next(size: number, signal: AbortSignal | undefined): Promise<Block> {
    const service = await this.#services.reach(CLAIMS, signal);
    return service.next(this.space, size, signal);
  }
}
