/** For tests, which are compiled. */
export interface Server {
  readonly port: number;
  /** SIGKILL, and a new start on the same port and directory. */
  restart(): Promise<void>;
  /** It takes what is sent and does nothing. */
  stall(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export function program(name: string): string | null;
export function startPostgres(settings?: readonly string[], copyOf?: Server, folder?: string): Promise<Server>;
export function startEtcd(): Promise<Server>;
export function startRedis(settings?: readonly string[]): Promise<Server>;
