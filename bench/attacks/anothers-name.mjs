/** Gives back a lease of the honest client in its name. */
export default /** @type {import('../attack.mjs').Attack} */ ({
  answer: 'TENURE_FORGED',
  async begin(attacker, { reach }) {
    await attacker.ask('open', { reach, connections: 1 });
    await attacker.ask('spy');
    await attacker.ask('release');
  },
});
