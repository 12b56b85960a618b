/**
 * What two sides say before they trust each other. The dialling side sends a hello, the accepting side a
 * challenge; the dialling side proves that it knows the secret; only then does the accepting side tell its
 * identity (welcome) and prove the same, or refuse. Here are the bytes and the judgements; nonces, proofs, sockets and
 * time limits are the transport's.
 *
 * A reader takes the fields it knows and leaves the rest unread: a newer version may add fields at the end.
 */
import { ERROR_CODES, incarnation, type ErrorCode, type Incarnation } from '../kernel/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import { beginFrame, CHALLENGE, endFrame, HANDSHAKE_BYTES_MAX, HELLO, PROOF, REFUSAL, WELCOME } from './frames.ts';
import { readServices, VERSION_OF_SERVICES, writeServices, type StatedService } from './services.ts';
import { readText, writeText } from './text.ts';

/** The first version of the protocol that knows more than exclusive leases that are given back at once, and knows of views. */
export const VERSION_OF_MODES = 4;
/** The first that renews leases in bundles. */
export const VERSION_OF_BUNDLES = 5;

/** "TNUR": a web browser or a port scanner is told apart from a peer by its first bytes. */
const MAGIC = 0x52554e54;
export const NONCE_BYTES = 32;
/** Of the public key from which an incarnation is derived. */
export const KEY_BYTES = 32;

export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

/**
 * The versions of the protocol that this code speaks. Votes of version 1 do not say which life gave them, so its peers are refused. Version 2 has
 * leases only: its peers state no services, and are sent nothing of any. Version 3 knows exclusive leases only, given back at once. Version 4 renews
 * each lease by itself.
 */
export const VERSIONS: VersionRange = { min: 2, max: VERSION_OF_BUNDLES };

/** The highest version both speak, or null if there is none. */
export function agreeVersion(a: VersionRange, b: VersionRange): number | null {
  const version = Math.min(a.max, b.max);
  return version >= a.min && version >= b.min ? version : null;
}

export type Role = 'member' | 'client';

/** What all members must agree on: where they do not, a restarted member's silence protects nothing. */
export interface CellConfig {
  /** With its parameters, as text: the engine gives them their meaning. */
  readonly engine: string;
  readonly maxTermUs: number;
  readonly rateErrorPpm: number;
  readonly replication: number;
  /** In the order of the view. */
  readonly members: readonly string[];
  readonly view: number;
}

/** A client states the fields it was configured with and takes the rest from the members. */
export type StatedConfig = Partial<CellConfig> & {
  /** The view that its side is in, as bytes, once that is another than the first: the other fields speak of the first one then. */
  readonly viewBytes?: Uint8Array;
};

export const CONFIG_FIELDS: readonly (keyof CellConfig)[] = ['engine', 'maxTermUs', 'rateErrorPpm', 'replication', 'members', 'view'];

export interface Disagreement {
  readonly field: keyof CellConfig;
  readonly here: string;
  readonly there: string;
}

/** If one side is in a later view, both need the same engine only: the side that is behind is told the view. */
export function differenceOf(here: StatedConfig, there: StatedConfig, whole: boolean): Disagreement | null {
  if (here.viewBytes === undefined && there.viewBytes === undefined) return disagreement(here, there, whole);
  const [a, b] = [here.engine, there.engine];
  if ((!whole && (a === undefined || b === undefined)) || a === b) return null;
  return { field: 'engine', here: shown(a), there: shown(b) };
}

/**
 * The first field whose values differ. What a client does not state is not held against it; a member states
 * everything, so there a missing field is a difference.
 */
export function disagreement(here: StatedConfig, there: StatedConfig, whole: boolean): Disagreement | null {
  for (const field of CONFIG_FIELDS) {
    const [a, b] = [here[field], there[field]];
    if (!whole && (a === undefined || b === undefined)) continue;
    if (shown(a) !== shown(b)) return { field, here: shown(a), there: shown(b) };
  }
  return null;
}

function shown(value: string | number | readonly string[] | undefined): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'object' ? value.join(', ') : String(value);
}

export interface Hello {
  readonly versions: VersionRange;
  readonly nonce: Uint8Array;
  readonly cell: string;
  readonly role: Role;
  readonly id: string;
  readonly incarnation: Incarnation;
  readonly key: Uint8Array;
  /** The member that was dialled: an address that leads to another one is noticed. */
  readonly to: string;
  readonly config: StatedConfig;
  /** Beside leases. */
  readonly services: readonly StatedService[];
}

export interface Challenge {
  readonly versions: VersionRange;
  readonly nonce: Uint8Array;
}

export interface Welcome {
  readonly id: string;
  readonly incarnation: Incarnation;
  readonly key: Uint8Array;
  readonly config: StatedConfig;
  /** Beside leases. */
  readonly services: readonly StatedService[];
}

export interface Proof {
  /** That its side knows the secret; empty if it has none. */
  readonly proof: Uint8Array;
  /** That its side has the key of its incarnation. */
  readonly signature: Uint8Array;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly facts: Readonly<Record<string, string>>;
}

export function writeHello(out: ByteWriter, hello: Hello): void {
  const start = beginFrame(out, HELLO);
  writeOpening(out, hello);
  writeText(out, hello.cell);
  out.u8(hello.role === 'member' ? 1 : 2);
  writeText(out, hello.id);
  out.u53(hello.incarnation);
  out.raw(hello.key, 0, KEY_BYTES);
  writeText(out, hello.to);
  writeConfig(out, hello.config);
  writeServices(out, hello.services);
  endFrame(out, start, HANDSHAKE_BYTES_MAX);
}

/** Null if the bytes are no hello. Of a hello whose versions have nothing in common with ours only the versions are read. */
export function readHello(input: ByteReader): Hello | VersionRange | null {
  const opening = readOpening(input);
  if (opening === null) return null;
  if (agreeVersion(opening.versions, VERSIONS) === null) return opening.versions;
  const cell = readText(input);
  const role = input.u8();
  const id = readText(input);
  const who = input.u53();
  const key = readRaw(input, KEY_BYTES);
  const to = readText(input);
  const config = readConfig(input);
  const services = servicesOf(opening.versions.max, input);
  if (input.failed || cell === null || id === null || key === null || to === null || config === null || services === null) return null;
  if (who === 0 || (role !== 1 && role !== 2)) return null;
  return { ...opening, cell, role: role === 1 ? 'member' : 'client', id, incarnation: incarnation(who), key, to, config, services };
}

export function writeChallenge(out: ByteWriter, challenge: Challenge): void {
  const start = beginFrame(out, CHALLENGE);
  writeOpening(out, challenge);
  endFrame(out, start, HANDSHAKE_BYTES_MAX);
}

export function readChallenge(input: ByteReader): Challenge | null {
  return readOpening(input);
}

export function writeProof(out: ByteWriter, { proof, signature }: Proof): void {
  const start = beginFrame(out, PROOF);
  for (const bytes of [proof, signature]) {
    out.u8(bytes.length);
    out.raw(bytes, 0, bytes.length);
  }
  endFrame(out, start, HANDSHAKE_BYTES_MAX);
}

export function readProof(input: ByteReader): Proof | null {
  const [proof, signature] = [readRaw(input, input.u8()), readRaw(input, input.u8())];
  return proof === null || signature === null ? null : { proof, signature };
}

export function writeWelcome(out: ByteWriter, welcome: Welcome): void {
  const start = beginFrame(out, WELCOME);
  writeText(out, welcome.id);
  out.u53(welcome.incarnation);
  out.raw(welcome.key, 0, KEY_BYTES);
  writeConfig(out, welcome.config);
  writeServices(out, welcome.services);
  endFrame(out, start, HANDSHAKE_BYTES_MAX);
}

/** `version` is the version that both sides speak. */
export function readWelcome(input: ByteReader, version: number): Welcome | null {
  const id = readText(input);
  const who = input.u53();
  const key = readRaw(input, KEY_BYTES);
  const config = readConfig(input);
  const services = servicesOf(version, input);
  if (input.failed || id === null || who === 0 || key === null || config === null || services === null) return null;
  return { id, incarnation: incarnation(who), key, config, services };
}

/** Facts that are no name, or longer than one, are cut: they are for a person to read. */
export function writeRefusal(out: ByteWriter, refusal: Refusal): void {
  const start = beginFrame(out, REFUSAL);
  writeText(out, refusal.code);
  const facts = Object.entries(refusal.facts);
  out.u8(facts.length);
  for (const [name, value] of facts) {
    writeText(out, name);
    writeText(out, printable(value));
  }
  endFrame(out, start, HANDSHAKE_BYTES_MAX);
}

export function readRefusal(input: ByteReader): Refusal | null {
  const code = readText(input);
  const facts: Record<string, string> = {};
  for (let left = input.u8(); left > 0; left--) {
    const [name, value] = [readText(input), readText(input)];
    if (name === null || value === null) return null;
    facts[name] = value;
  }
  if (input.failed || code === null || !Object.hasOwn(ERROR_CODES, code)) return null;
  return { code: code as ErrorCode, facts };
}

/** A side of an earlier version ends with its configuration. */
function servicesOf(version: number, input: ByteReader): StatedService[] | null {
  return version >= VERSION_OF_SERVICES ? readServices(input) : [];
}

function writeOpening(out: ByteWriter, { versions, nonce }: Challenge): void {
  out.u32(MAGIC);
  out.u16(versions.min);
  out.u16(versions.max);
  out.raw(nonce, 0, NONCE_BYTES);
}

function readOpening(input: ByteReader): Challenge | null {
  if (input.u32() !== MAGIC) return null;
  const versions = { min: input.u16(), max: input.u16() };
  const nonce = readRaw(input, NONCE_BYTES);
  return nonce === null || versions.min > versions.max ? null : { versions, nonce };
}

const VIEW_BYTES = 'viewBytes';

/** Each field has its name and its length, so that a reader can step over unknown fields. */
function writeConfig(out: ByteWriter, config: StatedConfig): void {
  const stated = CONFIG_FIELDS.filter((field) => config[field] !== undefined);
  const { viewBytes } = config;
  out.u8(stated.length + (viewBytes === undefined ? 0 : 1));
  if (viewBytes !== undefined) {
    writeText(out, VIEW_BYTES);
    out.u16(viewBytes.length);
    out.raw(viewBytes, 0, viewBytes.length);
  }
  for (const field of stated) {
    writeText(out, field);
    const lengthAt = out.length;
    out.u16(0);
    const value = config[field] ?? '';
    if (typeof value === 'number') out.u53(value);
    else if (typeof value === 'string') writeText(out, value);
    else for (const id of value) writeText(out, id);
    const length = out.length - lengthAt - 2;
    out.bytes[lengthAt] = length & 0xff;
    out.bytes[lengthAt + 1] = length >>> 8;
  }
}

function readConfig(input: ByteReader): StatedConfig | null {
  const config: Record<string, string | number | string[] | Uint8Array> = {};
  for (let left = input.u8(); left > 0; left--) {
    const field = readText(input);
    const end = input.at + 2 + input.u16();
    if (input.failed || field === null || end > input.end) return null;
    if (field === 'members') {
      const members: string[] = [];
      while (input.at < end) {
        const id = readText(input);
        if (id === null) return null;
        members.push(id);
      }
      config[field] = members;
    } else if (field === VIEW_BYTES) {
      const bytes = readRaw(input, end - input.at);
      if (bytes === null) return null;
      config[field] = bytes;
    } else if (field === 'engine') {
      const text = readText(input);
      if (text === null) return null;
      config[field] = text;
    } else if ((CONFIG_FIELDS as readonly string[]).includes(field)) {
      config[field] = input.u53();
    }
    if (input.failed || input.at > end) return null;
    input.at = end;
  }
  return config;
}

function readRaw(input: ByteReader, length: number): Uint8Array | null {
  const start = input.skip(length);
  if (input.failed) return null;
  // `slice` of Node's buffers would share the bytes, which are gone after the call.
  const copy = new Uint8Array(length);
  copy.set(input.bytes.subarray(start, start + length));
  return copy;
}

function printable(value: string): string {
  const cut = value.length > 60 ? `${value.slice(0, 60)}…` : value;
  return cut.replaceAll(/[^\x20-\x7e…]/g, '?') || '?';
}
