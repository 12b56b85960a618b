/**
 * When each process worked, by its own journal: `from ID NANOSECONDS DEADLINE TOKEN` when it was granted the lease, `wrote ID NANOSECONDS` after its last act, or
 * `left ID NANOSECONDS` if it has done nothing. All instants are of one machine's monotonic clock.
 */

/** @typedef {import('./works.d.mts').Work} Work */

/**
 * One that was killed worked until then, but not beyond its first deadline.
 * @param {string} journal @param {bigint | null} killedAt @returns {Work[]}
 */
export function worksIn(journal, killedAt) {
  /** @type {Work[]} */
  const works = [];
  for (const line of journal.split('\n').slice(0, -1)) {
    const [what = '', , at = '0', until = '0', token = '0'] = line.split(' ');
    const last = works.at(-1);
    if (what === 'from') {
      const [from, deadline, end] = [BigInt(at), BigInt(until), killedAt ?? BigInt(at)];
      works.push({ from, to: end < deadline ? end : deadline, token: Number(token), isCut: true });
    } else if (last) Object.assign(last, { to: what === 'wrote' ? BigInt(at) : last.from, isCut: false });
  }
  return works;
}

/** @param {readonly Work[]} works */
export function inOrder(works) {
  return [...works].sort((a, b) => (a.from < b.from ? -1 : 1));
}

/** How many began before another had ended. @param {readonly Work[]} works in order */
export function overlapsOf(works) {
  return works.filter(({ from }, i) => works.slice(0, i).some(({ to }) => to > from)).length;
}
