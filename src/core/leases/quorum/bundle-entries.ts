/** A bundle's contents as bytes: of each vote the number of its lease, its ballot, its mode and its name. */
const ENTRY_BYTES = 8 + 8 + 4 + 1;

export class BundleEntries {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytes = new Uint8Array(bytesMax);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** False if there is no room for it. */
  add(lease: number, ballot: number, mode: number, name: Uint8Array): boolean {
    const at = this.#length;
    if (at + ENTRY_BYTES + name.length > this.#bytes.length) return false;
    this.#view.setFloat64(at, lease);
    this.#view.setFloat64(at + 8, ballot);
    this.#view.setUint32(at + 16, mode);
    this.#view.setUint8(at + 20, name.length);
    this.#bytes.set(name, at + ENTRY_BYTES);
    this.#length = at + ENTRY_BYTES + name.length;
    return true;
  }
}

/** Shows the encoded entries in order; stops at the first malformed entry. */
export function readBundleEntries(
  bytes: Uint8Array,
  start: number,
  end: number,
  visit: (lease: number, ballot: number, mode: number, name: Uint8Array) => void,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = start; at + ENTRY_BYTES <= end;) {
    const length = view.getUint8(at + 20);
    const next = at + ENTRY_BYTES + length;
    const [lease, ballot] = [view.getFloat64(at), view.getFloat64(at + 8)];
    if (next > end || !Number.isSafeInteger(lease) || !Number.isSafeInteger(ballot) || lease < 0 || ballot < 0) return;
    visit(lease, ballot, view.getUint32(at + 16), bytes.slice(at + ENTRY_BYTES, next));
    at = next;
  }
}
