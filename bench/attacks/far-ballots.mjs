/** Ballots from the end of time for the leases of the honest client: one of them stopped a cell for good. Members refuse them, and keep nothing of them. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'ahead',
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 2 });
    await attacker.ask('far', { members: 3 });
  },
});
