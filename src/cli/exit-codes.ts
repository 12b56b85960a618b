/** The exit codes of every command, in one place. `docs/cli.md` explains them. */
export const EXIT = {
  ok: 0,
  /** A safety or liveness violation was found. */
  violation: 2,
  /** A campaign never reached something that must happen sometimes. */
  unreached: 3,
  /** A search was ended by a budget before it had seen everything. */
  unfinished: 3,
  usage: 64,
  internal: 70,
  badConfig: 78,
} as const;
