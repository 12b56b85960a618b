/** Addresses as people write them, `host:port`, and which of them cannot leave this machine. */
import { TenureError } from '../../kernel/index.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`, `10.0.0.1:4600` or `[::1]:4600`. Throws `TENURE_BAD_ARGUMENT`. */
export function parseAddress(text: string): Address {
  const match = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65535) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `${JSON.stringify(text)} is no address: write host:port, or [::1]:port for IPv6`, {
      address: text,
    });
  }
  return { host, port };
}

/** Whether an IP address is this machine's own; names are none. */
export function isLoopback(ip: string): boolean {
  const plain = ip.toLowerCase().replace(/^::ffff:/, '');
  return plain === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(plain);
}
