/** 150,000 waiters of one connection for one name: more than a client may have that is alone. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'no-place',
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 1 });
    await attacker.ask('wait', { name: 'attack/one', waiters: 150_000 });
  },
});
