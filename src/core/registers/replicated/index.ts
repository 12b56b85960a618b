/** Registers over several units of storage: replicated, ranked, and consensus on top. */
export {
  CONTENT_FRAME_BYTES,
  covers,
  decodeContent,
  encodeContent,
  isLaterContent,
  merged,
  type RegisterContent,
  type Stamp,
  type StampedContent,
} from './contents.ts';
export { UnitsCore } from './core.ts';
export * from './dialogue.ts';
export { blockKeyOf, MARK_KEY, placeOf, placeOfKey, recordKeyOf, UNIT_REGISTERS, WHOLE_KEY } from './keys.ts';
export { decodeMark, decodeWhole, encodeMark, encodeWhole, isSameText, type UnitMark } from './marks.ts';
export * from './rules.ts';
export type { UnitsConfig, UnitStanding } from './unit-tasks.ts';
