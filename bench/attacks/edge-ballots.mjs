/** Ballots at the edge of what members believe, over and over. There is nothing to refuse: what they drive up is the ballots of their own names. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: null,
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 2 });
    await attacker.ask('edge', { aheadUsMax: 86_400_000_000 });
  },
});
