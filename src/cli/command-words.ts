/** Errors of the library advise calls of the library. Here is the same advice for people that have only commands. */
import { TenureError } from '../kernel/index.ts';

/** By the ability missing in an engine: what to do instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  list: 'ask about one name with tenure holder NAME',
  watch: 'ask now and then with tenure holder NAME',
  'watch of a prefix': 'watch one name with tenure watch --exact NAME',
};

/** The same error, or an error whose advice names commands. */
export function inCommandWords(error: TenureError): TenureError {
  const { code, details } = error;
  const { name, unreached, missing, what, silentForMs, heldBy } = details;
  if (silentForMs !== undefined) {
    return new TenureError(code, error.message.replace(/ with bootstrap$/, ' with tenure bootstrap'), details);
  }
  if (code === 'TENURE_WAIT_TIMEOUT' && typeof name === 'string' && unreached === undefined && heldBy === undefined) {
    return new TenureError(
      code,
      `'${name}' was not free in time: wait longer, or ask who has it with tenure holder ${shellWord(name)}`,
      details,
    );
  }
  const instead = typeof missing === 'string' ? INSTEAD[missing] : undefined;
  if (code === 'TENURE_UNSUPPORTED' && instead !== undefined) {
    // The advice for programs is between the missing ability and the last way out.
    const [before, after] = [error.message.indexOf(`${what}: `), error.message.lastIndexOf(', or ')];
    return new TenureError(code, `${error.message.slice(0, before)}${what}: ${instead}${error.message.slice(after)}`, details);
  }
  return error;
}

/** So that it can be copied into a shell. */
function shellWord(name: string): string {
  const word = /^[\w./:@%+=,-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
  return name.startsWith('-') ? `-- ${word}` : word;
}
