/**
 * How several services share one connection. The kind of a frame names the service it is for: leases have the kind that every message had before
 * there were other services, so a frame of theirs is the same as in version 2, byte for byte; service n has the kind `FIRST_SERVICE_KIND` + n.
 * And what a side states of its services in the handshake.
 */
import type { ByteReader, ByteWriter } from './bytes.ts';
import { MESSAGE } from './frames.ts';
import { readText, writeText } from './text.ts';

/** The number of the service that every member has. */
export const LEASE_SERVICE = 0;
export const SERVICE_NUMBER_MAX = 63;
/** From here on, a frame is a message of a service beside leases. */
const FIRST_SERVICE_KIND = 64;

/** The first version of the protocol whose handshake states services. */
export const VERSION_OF_SERVICES = 3;

/** A service as a side states it. */
export interface StatedService {
  readonly number: number;
  /** Its name; a member adds how the service is set, after a colon. Sides that are set alike have the same text. */
  readonly text: string;
}

/** The kind of the frames that carry messages of this service. */
export function kindOfService(service: number): number {
  return service === LEASE_SERVICE ? MESSAGE : FIRST_SERVICE_KIND + service;
}

/** The service that a frame of this kind is for; null if a frame of this kind is no message. */
export function serviceOfKind(kind: number): number | null {
  if (kind === MESSAGE) return LEASE_SERVICE;
  const service = kind - FIRST_SERVICE_KIND;
  return service > LEASE_SERVICE && service <= SERVICE_NUMBER_MAX ? service : null;
}

export function writeServices(out: ByteWriter, services: readonly StatedService[]): void {
  out.u8(services.length);
  for (const { number, text } of services) {
    out.u8(number);
    writeText(out, text);
  }
}

/** Null for bytes that state no services: a number that is none, or is there twice. Leases are never stated. */
export function readServices(input: ByteReader): StatedService[] | null {
  const services: StatedService[] = [];
  for (let left = input.u8(); left > 0; left--) {
    const number = input.u8();
    const text = readText(input);
    const isNumber = number > LEASE_SERVICE && number <= SERVICE_NUMBER_MAX;
    if (text === null || !isNumber || services.some((one) => one.number === number)) return null;
    services.push({ number, text });
  }
  return input.failed ? null : services;
}
