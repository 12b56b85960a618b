/** A message as it is read from a log. */

export class LogMessage {
  /** Its place in the order of all messages of the cell: higher than the place of every message before it. */
  readonly position: number;
  /** The publisher: a member's id, or a client's name. */
  readonly from: string;
  readonly message: Uint8Array;
  /** Another number after the members have begun anew, because too few remembered the log: positions of two epochs cannot be compared. */
  readonly epoch: number;

  constructor(position: number, from: string, message: Uint8Array, epoch: number) {
    this.position = position;
    this.from = from;
    this.message = message;
    this.epoch = epoch;
  }

  /** The message as UTF-8 text. */
  get text(): string {
    const { buffer, byteOffset, byteLength } = this.message;
    return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
  }
}
