/** Drivers: a core on real clocks, over a real link. */
export * from './clocks.ts';
export * from './driver.ts';
export * from './keep-alive.ts';
export * from './link.ts';
export * from './pacer.ts';
