/** The metadata of a command that holds a lease: a user of `tenure holder` wants to know which person to call. */
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
