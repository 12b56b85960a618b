/**
 * Views in snapshots: as lists of bytes, each written and read once. A search takes and restores snapshots all the time, and few views occur in
 * them; so equal lists are mostly the same list.
 */
import { decodeView, encodeView, type View } from './views.ts';

const written = new WeakMap<View, readonly number[]>();
const read = new WeakMap<readonly number[], View>();

/** Nothing for a view that cannot be written. */
export function viewBytes(view: View): readonly number[] {
  const known = written.get(view);
  if (known !== undefined) return known;
  const bytes = [...(encodeView(view) ?? [])];
  written.set(view, bytes);
  read.set(bytes, view);
  return bytes;
}

/** Null if the bytes are no view. */
export function viewIn(bytes: readonly number[]): View | null {
  const known = read.get(bytes);
  if (known !== undefined) return known;
  const view = decodeView(Uint8Array.from(bytes), 0, bytes.length);
  if (view === null) return null;
  written.set(view, bytes);
  read.set(bytes, view);
  return view;
}
