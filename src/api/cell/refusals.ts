/** Why a cell has refused a request for a lease, and what to do next. */
import type { RefusalReason } from '../../core/index.ts';
import { formatDuration, quorumOf, spanUs, TenureError, type ErrorCode } from '../../kernel/index.ts';
import type { Refused } from '../leases/requests.ts';
import { offsetsText, type MemberReach } from './clock-skew.ts';

const NONE = 'none';

/** Why a request came to nothing, and what to do next. */
const EXPLANATIONS: Record<RefusalReason, (name: string, missing: string, offsets: string) => [ErrorCode, string]> = {
  timeout: (name, missing) => [
    'TENURE_WAIT_TIMEOUT',
    missing === NONE
      ? `${name} was not free in time; wait longer, or ask holder() who has it`
      : `no majority of members answered for ${name} in time; not reached: ${missing}. Start them or mend the network, or wait longer`,
  ],
  'no-quorum': (name, missing) => [
    'TENURE_NO_QUORUM',
    `no majority of members answered for ${name}; not reached: ${missing}. Start them or mend the network`,
  ],
  unreachable: (name) => [
    'TENURE_STORE_UNREACHABLE',
    `the store does not answer in time for ${name}; mend it or the way to it, or wait longer`,
  ],
  unreadable: (name) => [
    'TENURE_STORE_CORRUPT',
    `the record of ${name} in the store cannot be read: it is damaged, or a later version wrote it. It is not taken for free`,
  ],
  silent: (name) => ['TENURE_SILENT', `too many members keep silent after their start to vote on ${name}; try again in a moment, or wait`],
  skewed: (name, _missing, offsets) => [
    'TENURE_CLOCK_SKEW',
    `clocks are too far apart to vote on ${name}: members and clients must agree within the skew the cell was told; ` +
      `as seen from here, ${offsets || 'nothing was measured yet'}. Mend the clocks`,
  ],
  ahead: (name, _missing, offsets) => [
    'TENURE_CLOCK_AHEAD',
    `clocks are too far apart to vote on ${name}: a majority of members does not believe how far this process is ahead of them or behind; ` +
      `as seen from here, ${offsets || 'nothing was measured yet'}. Mend the clock that is off`,
  ],
  'too-long': (name) => [
    'TENURE_CONFIG_MISMATCH',
    `members refuse the term asked for ${name}: their maxTerm is shorter than ours. Give all the same maxTerm`,
  ],
  'old-version': (name, missing) => [
    'TENURE_UNSUPPORTED',
    `${name} can be shared, or have slots, only where a majority of members knows of that; of an older version: ${missing}. Upgrade them`,
  ],
  held: (name) => ['TENURE_HELD', `${name} is held by another: wait for it, or ask holder() who has it`],
  queued: (name) => ['TENURE_HELD', `others wait for ${name} already`],
  'no-place': (name) => [
    'TENURE_LIMIT',
    `the members have no place in line for ${name}: too many wait already, in all or of this process. Wait with fewer requests at once, or try again later`,
  ],
  'no-room': (name) => [
    'TENURE_LIMIT',
    `the members keep no more leases for this process, so not ${name} either: release some, or say less of them (meta). Or ${name} has as many readers or slots as there may be`,
  ],
  contended: (name) => ['TENURE_HELD', `others want ${name} at the same moment, and the vote was split; try again`],
  cancelled: (name) => ['TENURE_CLOSED', `the request for ${name} was cancelled`],
};

/** After how long a quorum votes that does not yet because members keep silent; null if no quorum is missing for that reason, or if it is unknown. */
export function quorumInMs(silencesMs: readonly (number | null)[]): number | null {
  const silent = silencesMs.filter((ms): ms is number => ms !== null && ms > 0).sort((a, b) => a - b);
  const missing = quorumOf(silencesMs.length) - silencesMs.filter((ms) => ms === 0).length;
  const leftMs = silent[missing - 1];
  return missing <= 0 || leftMs === undefined || leftMs === Infinity ? null : leftMs;
}

/** Why nothing could be had, where it is neither a holder nor the network: members that started keep silent. Null if they do not, or it is unknown for how long. */
export function keptSilent(name: string, { reason }: Pick<Refused, 'reason'>, silencesMs: readonly (number | null)[]): TenureError | null {
  const leftMs = quorumInMs(silencesMs);
  if (leftMs === null) return null;
  const left = formatDuration(spanUs(Math.ceil(leftMs / 100) * 100_000));
  const message = `'${name}' could not be had: too many members have just started and keep silent, for another ${left}; wait that long, or begin a brand-new cell with bootstrap`;
  return new TenureError(reason === 'timeout' ? 'TENURE_WAIT_TIMEOUT' : 'TENURE_SILENT', message, { name, silentForMs: Math.ceil(leftMs) });
}

/** `clockOff` is why no vote counts here, if this node's clock is off. */
export function explainRefusal(
  name: string,
  { reason, unreached }: Refused,
  members: readonly MemberReach[],
  clockOff: TenureError | null,
): TenureError {
  if (clockOff && (reason === 'no-quorum' || reason === 'timeout' || reason === 'silent')) return clockOff;
  // A waiter has heard a quorum, or not: that one of the others did not answer last time is nothing to tell.
  const isNothing = reason === 'timeout' && members.length - unreached.length >= quorumOf(members.length);
  const missing = isNothing
    ? ''
    : unreached.map((member) => members.find(({ number }) => number === member)?.id ?? String(member)).join(', ');
  const offsets = reason === 'skewed' || reason === 'ahead' ? offsetsText(members) : '';
  const [code, message] = EXPLANATIONS[reason](`'${name}'`, missing || NONE, offsets);
  if (reason === 'skewed' || reason === 'ahead') return new TenureError(code, message, { offsets });
  const isTelling = reason === 'no-quorum' || (reason === 'timeout' && missing !== '');
  if (reason === 'old-version') return new TenureError(code, message, { name, members: missing });
  return new TenureError(code, message, { name, ...(isTelling ? { unreached: missing } : {}) });
}
