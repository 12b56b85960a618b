/** 30 connections with 1,100 watches each: 100 more than a client may have. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'no-watch',
  async begin(attacker, { reach }, isShort) {
    await attacker.ask('open', { reach, connections: isShort ? 2 : 30 });
    await attacker.ask('watch', { watches: 1100 });
  },
});
