/** Answers that only members may give, and that nobody asked for. One with a clock from the end of time stopped a member. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'TENURE_FORGED',
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 2 });
    await attacker.ask('answer');
  },
});
