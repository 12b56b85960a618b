/** Ballots from the end of time, to one member only: clients that heard them from that member ended. It refuses them, and passes nothing of them on. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'ahead',
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 2 });
    await attacker.ask('far', { members: 1 });
  },
});
