/**
 * Storage on a stage: disks and shared units. An access stands still until an action lets it take effect or answers it. A read may be answered with
 * anything a regular register allows, as in the simulated world; damage comes when an action says so.
 */
import { OWN_DISK, type Completion } from '../../core/index.ts';
import { Registers, type BegunAccess, type AccessRequest, type Damage } from '../registers.ts';
import { bytesAsText } from '../regular-register.ts';
import type { AccessRef, AnswerRef, ProcessAccess, StageAction } from './actions.ts';

/** An access under way, by its number among its node's. */
export type StageAccess = BegunAccess & AccessRef & { readonly incarnation: number };

/** What an action makes an access find, instead of the newest record. */
export interface Findings {
  readonly finding?: AccessRef | null;
  readonly listing?: readonly string[];
}

export class StageStorage {
  readonly #registers = new Registers();
  readonly #numbers = new Map<number, number>();
  readonly #underWay: StageAccess[] = [];
  /** Changes of shared units that are said to have failed and have not taken effect: they may still do so. */
  readonly #failed: StageAccess[] = [];
  /** All accesses that change a record, by node and number: reads may find them, and they may take effect once more, after they have ended. */
  readonly #changes = new Map<string, StageAccess>();

  /** Oldest first. */
  get underWay(): readonly StageAccess[] {
    return this.#underWay;
  }

  find(ref: AccessRef): StageAccess | null {
    return find(this.#underWay, ref);
  }

  /** Begins an access and numbers it among its node's. */
  ask(node: number, incarnation: number, request: AccessRequest): StageAccess {
    const number = (this.#numbers.get(node) ?? 0) + 1;
    this.#numbers.set(node, number);
    const access = this.#registers.begin(node, request, true, { access: number, incarnation });
    this.#underWay.push(access);
    if (access.change) this.#changes.set(keyOf(access), access);
    return access;
  }

  /** Does what touches storage and no process. Says why it cannot be done, or null. */
  perform(action: Extract<StageAction, { kind: 'effect' | 'misdirect' | 'repeat' | Damage['kind'] }>): string | null {
    switch (action.kind) {
      case 'effect':
      case 'misdirect': {
        const access = find(this.#underWay, action) ?? find(this.#failed, action);
        if (!access) return 'there is no such access under way';
        if (access.isVoid) return 'its unit was restored since: it has no effect';
        if (action.kind === 'misdirect' && (access.request.action !== 'write' || access.isEffective))
          return 'it is no write that can go astray';
        this.#registers.takeEffect(access, action.kind === 'misdirect' ? action.to : undefined);
        return null;
      }
      case 'repeat': {
        const access = this.#changes.get(keyOf(action));
        if (!access?.isEffective || access.isVoid) return 'no such change has taken effect';
        this.#registers.repeat(access);
        return null;
      }
      default:
        return this.#registers.damage(action) ? null : 'there is no such record';
    }
  }

  /** Ends the access; returns the completion for its core. The findings are such as `mayFind` and `mayList` allow. */
  end(access: StageAccess, ok: boolean, { finding, listing }: Findings): Completion {
    this.#underWay.splice(this.#underWay.indexOf(access), 1);
    if (ok) this.#registers.takeEffect(access);
    else if (access.change && !access.isEffective && access.request.unit !== OWN_DISK) this.#failed.push(access);
    if (finding !== undefined) access.found = (finding && this.#changes.get(keyOf(finding))?.change?.value) ?? null;
    if (listing !== undefined) this.#registers.listAs(access, listing);
    return this.#registers.end(access, ok);
  }

  /** Whether a regular register may answer this read with what that change left behind; null is that nothing is there. Disks are not that weak. */
  mayFind(access: StageAccess, finding: AccessRef | null): boolean {
    if (access.request.action !== 'read' || access.request.unit === OWN_DISK) return false;
    const found = finding && this.#changes.get(keyOf(finding))?.change;
    if (found === undefined) return false;
    const { changes, orNothing } = this.#registers.findable(access);
    const text = bytesAsText(found?.value ?? null);
    return (orNothing && text === null) || changes.some(({ value }) => bytesAsText(value) === text);
  }

  /**
   * An access under way, and with it a change that left this record behind, if it is to find that. Where no access did, the record is
   * corrupt, and is found because it is the newest. Equal accesses are alike until they take effect, if no process waits for their answers.
   */
  refOf(
    node: number,
    { incarnation, request }: ProcessAccess,
    isGone: (incarnation: number) => boolean,
    finding: Uint8Array | null | undefined,
  ): AnswerRef | null {
    const isIt = (one: StageAccess): boolean =>
      incarnation === null
        ? !one.isEffective && (this.#failed.includes(one) || isGone(one.incarnation))
        : one.incarnation === incarnation && !this.#failed.includes(one);
    const asked = textOf(request);
    const access = [...this.#underWay, ...this.#failed].find((one) => one.node === node && isIt(one) && textOf(one.request) === asked);
    if (!access) return null;
    const ref = { node, access: access.access };
    if (finding === undefined) return ref;
    if (finding === null) return { ...ref, finding };
    const text = bytesAsText(finding);
    for (const one of this.#changes.values()) {
      if (bytesAsText(one.change?.value ?? null) === text && this.mayFind(access, one))
        return { ...ref, finding: { node: one.node, access: one.access } };
    }
    return bytesAsText(this.#registers.newestOf(access)?.value ?? null) === text ? ref : null;
  }

  /** Whether a list may be answered with just these keys: keys that come or go meanwhile may be in it. */
  mayList(access: StageAccess, keys: readonly string[]): boolean {
    if (access.request.action !== 'list') return false;
    const { must, may } = this.#registers.listable(access);
    return must.every((key) => keys.includes(key)) && keys.every((key) => must.includes(key) || may.includes(key));
  }

  /** The process is gone: its writes to its own disk took effect before, or never will. */
  crash(incarnation: number): void {
    for (let i = this.#underWay.length - 1; i >= 0; i--) {
      const access = this.#underWay[i] as StageAccess;
      if (access.incarnation === incarnation && access.request.unit === OWN_DISK) this.#underWay.splice(i, 1);
    }
  }

  wipeDisk(node: number): void {
    this.#registers.replaceDisk(node);
  }
}

function find(accesses: readonly StageAccess[], { node, access }: AccessRef): StageAccess | null {
  return accesses.find((one) => one.node === node && one.access === access) ?? null;
}

function keyOf({ node, access }: AccessRef): string {
  return `${node} ${access}`;
}

function textOf(request: AccessRequest): string {
  return JSON.stringify(request, (_name, value: unknown) => (value instanceof Uint8Array ? [...value] : value));
}
