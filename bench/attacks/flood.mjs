/** Four connections that ask as fast as they are read. There is nothing to refuse: who floods waits for its turn. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: null,
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 4 });
    await attacker.ask('flood');
  },
});
