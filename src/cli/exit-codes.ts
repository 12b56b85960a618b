/** The exit codes of every command, in one place. `docs/cli.md` explains them. */
export const EXIT = {
  ok: 0,
  /** A safety or liveness violation was found. */
  violation: 2,
  /** A campaign never reached something that must happen sometimes, or a search ended before it had seen everything. */
  unreached: 3,
  usage: 64,
  internal: 70,
  badConfig: 78,
} as const;
