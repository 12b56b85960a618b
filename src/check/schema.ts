/**
 * The schema of a history as a table: each kind of record, each of its fields in the order in which
 * they are written, what a field accepts and what it means. Reader, writer and documentation all work
 * from this table, and the compiler holds it against the interfaces in `history.ts`.
 */
import type { LeaseMode } from '../kernel/index.ts';
import type { Happened, HistoryRecord } from './history.ts';

/**
 * `count`: an integer from 0. `integer`: any. `number`: any finite (a referee judges the rest). `name`: a text of at least one character.
 * `node`: a count or a name. Choices are listed, each with its meaning.
 */
type Accepts<T> = [T] extends [number]
  ? 'count' | 'integer' | 'number'
  : [T] extends [string]
    ? string extends T
      ? 'name' | 'text'
      : { readonly [Choice in T]: string }
    : [T] extends [string | null]
      ? 'text or null'
      : 'node';

export type FieldAccepts = 'count' | 'integer' | 'number' | 'name' | 'text' | 'text or null' | 'node' | Readonly<Record<string, string>>;

export interface Field {
  readonly accepts: FieldAccepts;
  readonly optional: boolean;
  readonly means: string;
}

interface FieldOf<T, Optional extends boolean> extends Field {
  readonly accepts: Accepts<T>;
  readonly optional: Optional;
}

type Fields<R, Keys extends keyof R> = {
  readonly [K in Keys]-?: FieldOf<Exclude<R[K], undefined>, object extends Pick<R, K> ? true : false>;
};

type KindFields<R> = Fields<R, Exclude<keyof R, keyof Happened | 'kind'>>;

export type HistorySchema = {
  readonly [K in HistoryRecord['kind']]: { readonly means: string; readonly fields: KindFields<Extract<HistoryRecord, { kind: K }>> };
};

/** The fields every record begins with; `kind` follows them. */
export const COMMON_FIELDS: Fields<Happened, keyof Happened> = {
  at: { accepts: 'count', optional: false, means: "microseconds: true time in a simulated history, the writer's wall clock in a real one" },
  node: { accepts: 'node', optional: false, means: "whoever did it: the node's number or name" },
  incarnation: { accepts: 'count', optional: false, means: 'which start of that node' },
};

const resource: FieldOf<string, false> = { accepts: 'name', optional: false, means: 'what is leased' };
const request: FieldOf<number, false> = {
  accepts: 'count',
  optional: false,
  means: 'the number of the request, unique within the incarnation',
};
const token: FieldOf<number, false> = { accepts: 'number', optional: false, means: 'the fencing token' };
const mode: FieldOf<LeaseMode, true> = {
  accepts: { exclusive: 'nobody else holds it', shared: 'others may hold it too, in this mode' },
  optional: true,
  means: 'how it is held; exclusive if absent',
};
const query: FieldOf<number, false> = {
  accepts: 'count',
  optional: false,
  means: 'the number of the question, unique within the incarnation',
};
const certain: FieldOf<'yes' | 'no', false> = {
  accepts: { yes: 'it was so at some instant since the question', no: 'it may be so' },
  optional: false,
  means: 'whether the answer is certain',
};
const register: FieldOf<string, false> = { accepts: 'name', optional: false, means: 'which register' };
const op: FieldOf<number, false> = {
  accepts: 'count',
  optional: false,
  means: 'the number of the operation, unique within the incarnation',
};
const instance: FieldOf<number, false> = { accepts: 'count', optional: false, means: 'which instance of consensus' };
const message: FieldOf<string, false> = { accepts: 'name', optional: false, means: 'the message, unique in the history' };

const space: FieldOf<string, false> = { accepts: 'name', optional: false, means: 'whose integers' };
const claim: FieldOf<number, false> = {
  accepts: 'count',
  optional: false,
  means: 'the number of the claim, unique within the incarnation',
};

export const HISTORY_SCHEMA: HistorySchema = {
  requested: { means: 'a lease was asked for', fields: { resource, request, mode } },
  queued: { means: 'the request stands in line at a majority', fields: { resource, request } },
  abandoned: { means: 'the request is dead from here on: cancelled, timed out or refused', fields: { resource, request } },
  granted: {
    means: 'a lease was handed to the one who asked',
    fields: {
      resource,
      request,
      token,
      remainingUs: {
        accepts: 'integer',
        optional: false,
        means: 'how much longer the holder may act, by its own clocks, at the hand-over',
      },
      mode,
    },
  },
  renewed: {
    means: 'the holder learned that its lease was extended',
    fields: {
      resource,
      token,
      remainingUs: { accepts: 'integer', optional: false, means: 'how much longer it may act now, by its own clocks' },
      mode,
    },
  },
  used: {
    means: 'the holder acted under the lease',
    fields: {
      resource,
      token,
      remainingUs: { accepts: 'integer', optional: false, means: 'time left by its own clocks; 0 or less is past its deadline' },
      mode,
    },
  },
  ended: {
    means: 'the holder stopped; nothing is done under the lease from here on',
    fields: {
      resource,
      token,
      reason: {
        accepts: {
          released: 'the holder gave it back',
          lost: 'the holder learned that it is gone',
          deadline: "the holder's own clocks passed its deadline",
          crashed: 'the holder stopped',
        },
        optional: false,
        means: 'why',
      },
    },
  },
  believed: { means: 'a learner, asked at this instant, believes that this lease holds', fields: { resource, token } },
  queried: {
    means: 'a question to a majority began: who holds this, or what is held under this',
    fields: {
      query,
      scope: { accepts: { name: 'one name', prefix: 'all names with the prefix' }, optional: false, means: 'what it is about' },
      resource: { accepts: 'text', optional: false, means: 'the name, or the prefix' },
    },
  },
  answered: {
    means: 'a question was answered; of a list, one lease that is on it',
    fields: {
      query,
      resource,
      certain,
      holder: { accepts: 'count', optional: true, means: 'the incarnation that holds it; absent if nobody does' },
      token: { accepts: 'number', optional: true, means: 'the fencing token; absent if nobody holds it' },
    },
  },
  listed: { means: 'a list is complete', fields: { query, certain } },
  synced: { means: 'the store has acknowledged data under a lease', fields: { resource, token } },
  fetching: { means: 'a read of the data under the leases of a name began', fields: { resource, query } },
  fetched: {
    means: 'such a read ended',
    fields: {
      resource,
      query,
      token: { accepts: 'number', optional: true, means: 'of the holder that stored the data; absent if there is none' },
    },
  },
  invoked: {
    means: 'an operation on a register began',
    fields: {
      register,
      op,
      action: { accepts: { read: 'it reads', write: 'it writes' }, optional: false, means: 'what it does' },
      value: { accepts: 'text', optional: true, means: 'what is written, unique for the register; absent for a read' },
    },
  },
  responded: {
    means: 'an operation on a register was answered',
    fields: {
      register,
      op,
      value: { accepts: 'text or null', optional: true, means: 'what was read, null if never written; absent for a write' },
    },
  },
  asked: {
    means: 'an operation on a round-based register began',
    fields: {
      register,
      op,
      action: { accepts: { read: 'it reads', write: 'it writes' }, optional: false, means: 'what it does' },
      ballot: { accepts: 'count', optional: false, means: 'its ballot; equal ones are told apart by incarnation' },
      value: { accepts: 'text', optional: true, means: 'what is written; absent for a read' },
    },
  },
  committed: {
    means: 'an operation on a round-based register was done by a majority',
    fields: {
      register,
      op,
      value: { accepts: 'text or null', optional: true, means: 'what was read, null if never written; absent for a write' },
    },
  },
  aborted: { means: 'an operation on a round-based register was refused', fields: { register, op } },
  proposed: { means: 'a value was proposed', fields: { instance, value: { accepts: 'text', optional: false, means: 'the value' } } },
  decided: { means: 'a value was decided', fields: { instance, value: { accepts: 'text', optional: false, means: 'the value' } } },
  broadcast: { means: 'a message was broadcast', fields: { message } },
  delivered: {
    means: 'a message was delivered',
    fields: {
      message,
      position: { accepts: 'count', optional: true, means: 'where it is in the one sequence, the first at 1; absent where nobody counts' },
      gap: {
        accepts: { gone: 'what was there is kept no more', name: 'the reader reads one name of several' },
        optional: true,
        means: 'why the reader left out positions before this one; absent where it did not',
      },
    },
  },
  acknowledged: {
    means: 'whoever broadcast the message was told its position, for good',
    fields: { message, position: { accepts: 'count', optional: false, means: 'where it is in the one sequence' } },
  },
  reset: {
    means: 'the group was begun anew by an operator',
    fields: {
      epoch: { accepts: 'count', optional: false, means: 'which beginning; told once or more' },
      position: { accepts: 'count', optional: false, means: 'what was after this position is lost, acknowledged or not' },
    },
  },
  claimed: {
    means: 'integers were claimed: this interval, or any block of this size',
    fields: {
      space,
      claim,
      from: { accepts: 'count', optional: true, means: 'the first of the interval; absent where any block will do' },
      to: { accepts: 'count', optional: true, means: 'the last of the interval; absent where any block will do' },
      size: { accepts: 'count', optional: true, means: 'how many integers; absent where an interval is claimed' },
    },
  },
  allotted: {
    means: "these integers are the claimant's, for ever",
    fields: {
      space,
      claim,
      from: { accepts: 'count', optional: false, means: 'the first' },
      to: { accepts: 'count', optional: false, means: 'the last' },
    },
  },
  denied: {
    means: 'a claim was refused',
    fields: {
      space,
      claim,
      why: {
        accepts: {
          overlap: 'some of its integers were not free',
          limit: 'members keep no more claims',
          exhausted: 'there are no so many integers in a row',
        },
        optional: false,
        means: 'why',
      },
    },
  },
  recalled: { means: 'a claim was given up before it was answered', fields: { space, claim } },
  cleared: {
    means: 'nothing is left of a claim but what was allotted: it stands in no other claim’s way any more',
    fields: { space, claim },
  },
  rejoined: {
    means: 'a member whose disk was lost is in use again: what it copied from others is taken for good',
    fields: { generation: { accepts: 'count', optional: false, means: 'of its disk' } },
  },
  crashed: { means: 'the node stopped: everything it held or had under way is over', fields: {} },
};
