/** Leases on 20,000 names that were chosen to have one hash. There is nothing to refuse: to a member they are names like any others. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: null,
  async begin(attacker, { reach, maxTerm }, isShort) {
    await attacker.ask('choose', { names: isShort ? 2000 : 20_000 });
    await attacker.ask('open', { reach, connections: 1 });
    await attacker.ask('collide', { termMs: maxTerm });
  },
});
