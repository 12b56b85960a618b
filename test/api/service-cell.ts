/** Real cells, over TCP and with data directories, whose members have services that tests bring. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Cell, JoinOptions } from '../../src/api/index.ts';
import { nodeOf } from '../../src/api/cell/cell.ts';
import { connectWith, joinWith } from '../../src/api/cell/join.ts';
import type { RunningService, ServiceKind } from '../../src/api/services/service.ts';
import { freePorts, MAX_TERM_MS } from './real-cell.ts';

export const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };

export class ServiceCell {
  readonly options: Omit<JoinOptions, 'self'>;
  readonly #dirs = new Map<string, string>();
  readonly #services: readonly ServiceKind[];

  private constructor(addresses: Record<string, string>, services: readonly ServiceKind[]) {
    this.options = { cell: 'test', members: addresses, maxTerm: MAX_TERM_MS, ...SECRETS };
    this.#services = services;
  }

  /** Nobody is up yet. */
  static async of(ids: readonly string[], services: readonly ServiceKind[]): Promise<ServiceCell> {
    const ports = await freePorts(ids.length);
    return new ServiceCell(Object.fromEntries(ids.map((id, index) => [id, `127.0.0.1:${ports[index]}`])), services);
  }

  port(id: string): number {
    return Number(this.options.members[id]?.split(':')[1]);
  }

  /** Each member has one directory, whatever its life. */
  dirOf(id: string): string {
    let dir = this.#dirs.get(id);
    if (dir === undefined) {
      const made = mkdtempSync(join(tmpdir(), 'tenure-'));
      onTestFinished(() => rmSync(made, { recursive: true, force: true }));
      this.#dirs.set(id, (dir = made));
    }
    return dir;
  }

  /** A member with a data directory, unless told otherwise. */
  async join(self: string, services: readonly ServiceKind[] = this.#services, isKeeping = true): Promise<Cell> {
    const more = isKeeping ? { dataDir: this.dirOf(self) } : {};
    return closedAfter(await joinWith({ ...this.options, self, ...more }, services));
  }

  async client(services: readonly ServiceKind[] = this.#services): Promise<Cell> {
    const { cell, members, clientSecret } = { ...this.options, ...SECRETS };
    return closedAfter(await connectWith({ cell, members, clientSecret }, services));
  }
}

function closedAfter(cell: Cell): Cell {
  onTestFinished(() => cell.close());
  return cell;
}

/** The service as it runs in that process. */
export function serviceAt<Service extends RunningService>(cell: Cell, kind: ServiceKind<Service>): Promise<Service> {
  return nodeOf(cell).services.reach(kind);
}

/** The same, now or never. */
export function serviceNow<Service extends RunningService>(cell: Cell, kind: ServiceKind<Service>): Service {
  return nodeOf(cell).services.of(kind);
}
