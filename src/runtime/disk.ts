/** What a driver needs of a disk: accesses by key that are answered later, never within the call. */
export interface Disk {
  /** `done` is told the value, null if there is none; or that it failed. */
  read(key: string, done: DiskAnswer): void;
  /** The caller does not change `value` before `done` is told: it need not be copied. `done` is told once it survives a crash of the machine. */
  write(key: string, value: Uint8Array, done: DiskAnswer): void;
  /** Nothing is there from here on, as after a write. */
  erase(key: string, done: DiskAnswer): void;
}

/** The part of a disk that one service has to itself: no key of it is a key of another part. */
export interface DiskSection {
  readonly disk: Disk;
  /** Whether an earlier life of this node had this part already. */
  readonly isKept: boolean;
}

export type DiskAnswer = (ok: boolean, value: Uint8Array | null) => void;
