/** What a command that holds a lease says of itself: who asks `tenure holder` wants to know whom to call. */
import { hostname, userInfo } from 'node:os';

export function whoAmI(): string {
  let user = '';
  try {
    user = `${userInfo().username}@`;
  } catch {
    // A container may run as a user that has no name.
  }
  return `${user}${hostname()} pid ${process.pid}`;
}
