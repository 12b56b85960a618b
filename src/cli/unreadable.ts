/** Why a file that a person named cannot be read, in words for that person. */
export function whyUnreadable(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return 'this user may not read it (EACCES)';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
