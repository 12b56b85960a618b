/** What a driver needs of a disk: accesses by key that are answered later, never within the call. */
export interface Disk {
  /** `done` is told what is there, null if nothing is; or that it failed. */
  read(key: string, done: DiskAnswer): void;
  /** `value` is copied before this returns. `done` is told once it survives a crash of the machine. */
  write(key: string, value: Uint8Array, done: DiskAnswer): void;
  /** Nothing is there from here on, as after a write. */
  erase(key: string, done: DiskAnswer): void;
}

export type DiskAnswer = (ok: boolean, value: Uint8Array | null) => void;
