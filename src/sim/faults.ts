/**
 * The faults of one run: which kinds there are, how often, how strong. One seed draws them all (a swarm:
 * most runs have a few kinds only, so that each gets room to do harm).
 */
import type { Chooser } from '../kernel/index.ts';

/** Rates are "about one every so many microseconds, anywhere in the world"; 0 is never. Shares are parts per million. */
export interface FaultPlan {
  latencyUsMin: number;
  latencyUsSpread: number;
  /** The share of messages whose latency doubles; the same share of these messages doubles again, and so on. */
  tailPpm: number;
  lossPpm: number;
  duplicatePpm: number;
  /** Messages that arrive terms later. */
  latePpm: number;
  /** Links that are cut: both ways, one way, or flapping. */
  cutEveryUs: number;
  cutUsMax: number;
  oneWayPpm: number;
  flapPpm: number;

  /** Machines have been up for up to this long when the run begins, and after each reboot; 0 is: their monotonic clocks begin with the run. */
  uptimeUsMax: number;
  /** Clock rates are drawn in ±this. */
  ratePpmMax: number;
  /** A clock's rate is drawn anew. */
  rateChangeEveryUs: number;
  /** One clock at a time leaves the bound, far, and comes back: only where processes compare clocks. */
  slewEveryUs: number;
  slewUsMax: number;
  offsetUsMax: number;
  wallStepEveryUs: number;
  wallStepUsMax: number;
  wallStepsBack: boolean;
  /** The wall clock of the last node goes from `wallSwayUs` ahead to as much behind, and back. */
  wallSwayEveryUs: number;
  wallSwayUs: number;
  timerLateUsMax: number;
  stallEveryUs: number;
  stallUsMax: number;
  sleepEveryUs: number;
  sleepUsMax: number;

  crashEveryUs: number;
  /** All nodes crash at once, as by a power failure. */
  powerEveryUs: number;
  /** Only nodes below this do. */
  powerNodes: number;
  downUsMax: number;
  /** Crash right after sending a message the protocol calls a vote, and come back at once. */
  afterVotePpm: number;
  /** Crash between two effects of one step. */
  midStepPpm: number;
  /** The vote after which a process crashed arrives only when the process is long back. */
  lastWordsLatePpm: number;
  /** A machine that comes up again has its wall clock set a moment later. */
  wallSetAtBootPpm: number;
  keepDiskPpm: number;
  /** Only nodes below this ever lose their disks. */
  losableDisks: number;
  /** A "crash" in which the old process is only stalled and lives on beside the new one. */
  twinPpm: number;
  /** A member is taken for dead and lives on: some nodes go on talking to it, the others talk to its successor. One at a time. */
  outliveEveryUs: number;
  /** Only nodes below this are outlived so. */
  outlivedNodes: number;
  /** These too may go on talking to the old one; otherwise only the nodes from there on do. */
  outlivedAmongMembers: boolean;

  storageUsMin: number;
  storageUsSpread: number;
  lostAnswerPpm: number;
  lateAccessPpm: number;
  unitFailEveryUs: number;
  unitFailUsMax: number;
  /** Reads answer with anything a regular register allows, not with the newest value. */
  weakReads: boolean;
  /** They do so until the world heals, not for ever. */
  weakReadsHeal: boolean;
  /** Writes to a shared unit that go to another key, and are acknowledged. */
  misdirectPpm: number;
  /** Writes, swaps and erasures of a shared unit that take effect twice, the second time up to three terms later. */
  repeatPpm: number;
  /** One byte of a record of a shared unit is inverted. */
  corruptEveryUs: number;
  /** A record of a shared unit loses its last change, though that was acknowledged. */
  forgetEveryUs: number;
  /** A shared unit loses every record. */
  wipeEveryUs: number;
  /** A shared unit goes back to an earlier state and says so: it is in another epoch, and refuses processes that have not opened it since. */
  restoreEveryUs: number;

  /** Accesses to the own disk that take terms, or are never answered. */
  diskHangPpm: number;
  diskLostAnswerPpm: number;
  /** A node's own disk fails for a while. */
  diskFailEveryUs: number;
  diskFailUsMax: number;
  /** The same damage as to shared units. */
  diskMisdirectPpm: number;
  diskCorruptEveryUs: number;
  diskForgetEveryUs: number;
}

/** A calm world: a little latency, nothing else. */
export function noFaults(): FaultPlan {
  return {
    latencyUsMin: 200,
    latencyUsSpread: 800,
    tailPpm: 0,
    lossPpm: 0,
    duplicatePpm: 0,
    latePpm: 0,
    cutEveryUs: 0,
    cutUsMax: 0,
    oneWayPpm: 0,
    flapPpm: 0,
    uptimeUsMax: 1_000_000_000,
    ratePpmMax: 0,
    rateChangeEveryUs: 0,
    slewEveryUs: 0,
    slewUsMax: 0,
    offsetUsMax: 0,
    wallStepEveryUs: 0,
    wallStepUsMax: 0,
    wallStepsBack: false,
    wallSwayEveryUs: 0,
    wallSwayUs: 0,
    timerLateUsMax: 0,
    stallEveryUs: 0,
    stallUsMax: 0,
    sleepEveryUs: 0,
    sleepUsMax: 0,
    crashEveryUs: 0,
    powerEveryUs: 0,
    powerNodes: Infinity,
    downUsMax: 0,
    afterVotePpm: 0,
    lastWordsLatePpm: 0,
    wallSetAtBootPpm: 0,
    midStepPpm: 0,
    keepDiskPpm: 0,
    losableDisks: Infinity,
    twinPpm: 0,
    outliveEveryUs: 0,
    outlivedNodes: 0,
    outlivedAmongMembers: false,
    storageUsMin: 200,
    storageUsSpread: 800,
    lostAnswerPpm: 0,
    lateAccessPpm: 0,
    unitFailEveryUs: 0,
    unitFailUsMax: 0,
    weakReads: false,
    weakReadsHeal: false,
    misdirectPpm: 0,
    repeatPpm: 0,
    corruptEveryUs: 0,
    forgetEveryUs: 0,
    wipeEveryUs: 0,
    restoreEveryUs: 0,
    diskHangPpm: 0,
    diskLostAnswerPpm: 0,
    diskFailEveryUs: 0,
    diskFailUsMax: 0,
    diskMisdirectPpm: 0,
    diskCorruptEveryUs: 0,
    diskForgetEveryUs: 0,
  };
}

/** What the faults are measured against. */
export interface FaultScale {
  /** The longest term of a lease: "late" is beyond it. */
  termUs: number;
  /** The bound on clock-rate error that the protocol was told; drawn rates keep to it. */
  ratePpmMax: number;
  /** The bound on wall-clock difference that the protocol was told; drawn offsets keep to it. */
  offsetUsMax: number;
}

interface Dice {
  readonly one: (outOf: number) => boolean;
  readonly between: (min: number, max: number) => number;
}

function diceOf(chooser: Chooser): Dice {
  return { one: (outOf) => chooser.below(outOf) === 0, between: (min, max) => min + chooser.below(max - min + 1) };
}

/** Draws the faults of a run. */
export function drawFaults(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  const faults = noFaults();
  const { one, between } = diceOf(chooser);
  const part = (outOf: number): number => Math.max(1, Math.floor(termUs / outOf));

  // Latency from "a data centre" to "a fifth of a term".
  faults.latencyUsMin = between(1, part(200));
  faults.latencyUsSpread = between(1, part(one(4) ? 5 : 50));
  if (one(2)) faults.tailPpm = between(10_000, 300_000);
  if (one(2)) faults.lossPpm = between(1_000, one(4) ? 400_000 : 60_000);
  if (one(2)) faults.duplicatePpm = between(1_000, 300_000);
  if (one(3)) faults.latePpm = between(1_000, 120_000);
  if (one(3)) {
    faults.cutEveryUs = between(part(4), termUs * 4);
    faults.cutUsMax = between(part(10), termUs * 3);
    faults.oneWayPpm = one(2) ? 500_000 : 0;
    faults.flapPpm = one(3) ? 500_000 : 0;
  }

  faults.ratePpmMax = one(3) ? 0 : scale.ratePpmMax;
  if (one(3)) faults.rateChangeEveryUs = between(part(4), termUs * 4);
  faults.offsetUsMax = scale.offsetUsMax;
  faults.timerLateUsMax = one(2) ? between(1, part(20)) : 0;
  if (one(4)) {
    faults.stallEveryUs = between(part(4), termUs * 4);
    faults.stallUsMax = between(part(10), termUs * 3);
  }
  // A machine that sleeps while its wall clock is set back by as much looks like a machine that never slept:
  // no protocol can tell (docs/guarantees.md), so a run has one fault or the other.
  if (one(4)) {
    faults.sleepEveryUs = between(part(4), termUs * 4);
    faults.sleepUsMax = between(part(10), termUs * 3);
  }
  if (one(4)) {
    faults.wallStepEveryUs = between(part(4), termUs * 2);
    faults.wallStepUsMax = between(part(10), termUs * 4);
    faults.wallStepsBack = faults.sleepEveryUs === 0;
    faults.wallSetAtBootPpm = 500_000;
  }

  if (!one(4)) {
    faults.crashEveryUs = between(part(3), termUs * 5);
    faults.downUsMax = between(1, one(3) ? termUs * 2 : part(4));
    faults.midStepPpm = one(3) ? between(100, 4_000) : 0;
    faults.keepDiskPpm = one(2) ? 1_000_000 : between(0, 1_000_000);
    faults.twinPpm = one(3) ? 500_000 : 0;
  }
  if (one(4)) {
    faults.afterVotePpm = between(1_000, 80_000);
    faults.lastWordsLatePpm = one(2) ? 500_000 : 0;
    if (faults.downUsMax === 0) faults.downUsMax = between(1, part(4));
  }

  faults.storageUsMin = between(1, part(200));
  faults.storageUsSpread = between(1, part(50));
  if (one(3)) faults.lostAnswerPpm = between(1_000, 50_000);
  if (one(3)) faults.lateAccessPpm = between(1_000, 80_000);
  if (one(3)) {
    faults.unitFailEveryUs = between(termUs, termUs * 4);
    faults.unitFailUsMax = between(1, termUs * 2);
  }
  faults.weakReads = !one(3);
  return faults;
}

/** What goes wrong with the nodes' own disks, for protocols that have them: nothing in most worlds, some of it in the others. */
export function drawDiskFaults(chooser: Chooser, faults: FaultPlan, termUs: number): void {
  const { one, between } = diceOf(chooser);
  if (one(2)) return;
  if (one(2)) faults.diskHangPpm = between(1_000, 100_000);
  if (one(2)) faults.diskLostAnswerPpm = between(2_000, 40_000);
  if (one(2)) {
    faults.diskFailEveryUs = between(termUs, termUs * 4);
    faults.diskFailUsMax = between(1, termUs);
  }
}

/**
 * What damages records of shared units, for protocols that are built to notice: nothing in many worlds, some of it in the others. No register is
 * regular any more where records are damaged, so `drawFaults` leaves them whole.
 */
export function drawUnitDamage(chooser: Chooser, faults: FaultPlan, termUs: number): void {
  const { one, between } = diceOf(chooser);
  if (one(3)) return;
  if (one(3)) faults.misdirectPpm = between(1_000, 100_000);
  if (one(3)) faults.repeatPpm = between(1_000, 200_000);
  if (one(3)) faults.corruptEveryUs = between(Math.ceil(termUs / 2), termUs * 4);
  if (one(3)) faults.forgetEveryUs = between(Math.ceil(termUs / 2), termUs * 4);
  if (one(4)) faults.wipeEveryUs = between(termUs, termUs * 8);
}

/** The same for records on the nodes' own disks. */
export function drawDiskDamage(chooser: Chooser, faults: FaultPlan, termUs: number): void {
  const { one, between } = diceOf(chooser);
  if (one(3)) return;
  if (one(2)) faults.diskMisdirectPpm = between(1_000, 100_000);
  if (one(2)) faults.diskCorruptEveryUs = between(Math.ceil(termUs / 2), termUs * 4);
  if (one(2)) faults.diskForgetEveryUs = between(Math.ceil(termUs / 2), termUs * 4);
}

/** The faults that remain once the world has healed: latency, and the rates of the clocks. */
export function healedFaults(faults: FaultPlan): FaultPlan {
  return {
    ...noFaults(),
    latencyUsMin: faults.latencyUsMin,
    latencyUsSpread: faults.latencyUsSpread,
    uptimeUsMax: faults.uptimeUsMax,
    ratePpmMax: faults.ratePpmMax,
    offsetUsMax: faults.offsetUsMax,
    storageUsMin: faults.storageUsMin,
    storageUsSpread: faults.storageUsSpread,
    weakReads: faults.weakReads && !faults.weakReadsHeal,
  };
}
