/**
 * Delta debugging: the list with as much taken out as still passes the test, so that no single item can go
 * any more. Large pieces are tried first. Deterministic; to stop early, throw in the test.
 */
export function reduceList<T>(list: readonly T[], passes: (shorter: readonly T[]) => boolean): readonly T[] {
  let kept = list;
  for (let size = Math.ceil(kept.length / 2); kept.length > 0 && size >= 1;) {
    let removed = false;
    // From the end: late items depend on early ones, not the other way round.
    for (let end = kept.length; end > 0; end -= size) {
      const from = Math.max(0, end - size);
      const shorter = [...kept.slice(0, from), ...kept.slice(end)];
      if (!passes(shorter)) continue;
      kept = shorter;
      removed = true;
    }
    if (removed && size === 1) continue;
    if (size === 1) break;
    size = Math.ceil(Math.min(size, kept.length) / 2);
  }
  return kept;
}
