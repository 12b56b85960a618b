/** How much a test plays: as much as shows its claim, or all of it, with `npm run test:campaigns`. */
const isFull = process.env['TENURE_TEST_SIZE'] === 'full';

/** What is played as usual, and in a campaign. */
export function sized<T>(usual: T, full: T): T {
  return isFull ? full : usual;
}
