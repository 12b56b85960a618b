/** Drivers: a core on real clocks, over a real link. */
export * from './clocks.ts';
export { DataDir, type DataDirOptions } from './data-dir.ts';
export * from './disk.ts';
export * from './driver.ts';
export * from './keep-alive.ts';
export * from './link.ts';
export { ROOM_BYTES } from './lmdb-write.ts';
export * from './pacer.ts';
export * from './shared-unit.ts';
export * from './store-unit.ts';
