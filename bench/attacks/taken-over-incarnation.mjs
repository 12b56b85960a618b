/** Connects as the process that holds a lease: there were two holders for nearly a term. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'TENURE_WRONG_KEY',
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 1 });
    await attacker.ask('spy');
    await attacker.ask('takeOver', { reach });
  },
});
