/** Values in snapshots: bytes as a text of as many characters, since snapshots are plain data. */

const EMPTY = new Uint8Array(0);

export function valueText(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

export function valueBytes(text: string): Uint8Array {
  return text === '' ? EMPTY : Uint8Array.from(text, (character) => character.charCodeAt(0));
}
