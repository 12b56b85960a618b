/**
 * What a cell needs of a service beside leases: its number and its name, whether its members keep anything, which peers may ask for it, and how it
 * is run. A service is a core of the usual contract on a driver of its own, over the connections, the identity and the data directory of its
 * process. The only list of them is in `index.ts`.
 */
import type { Boot, Core, Sender } from '../../core/index.ts';
import type { Chooser, HashKey, NodeId, TenureError } from '../../kernel/index.ts';
import { Driver, type Clocks, type Disk, type KeepAlive, type Link } from '../../runtime/index.ts';
import type { Codec } from '../../wire/index.ts';
import type { Observer } from '../observing/observer.ts';

export interface ServiceKind<Service extends RunningService = RunningService> {
  /** From 1 to 63, and of no other service, ever: frames are addressed with it. */
  readonly number: number;
  /** Of no other service: errors, the handshake and the data directory know it by this name. It has neither colon nor slash. */
  readonly name: string;
  /** Its name, and how this member has set it, after a colon. Members that state different texts do not serve each other. */
  readonly text: string;
  /** Its members keep something in a data directory. `needed`: a member without one does not have the service. `used`: it keeps nothing then. */
  readonly disk: 'needed' | 'used' | 'none';
  /** `asked`: at a member it begins when its process first asks for it, or when a peer speaks of it; until then it costs nothing. */
  readonly begins: 'at once' | 'asked';
  /** Whether the message that begins here begins the service at a member where it has not begun; every message unless told otherwise. */
  readonly rouses?: (bytes: Uint8Array, start: number) => boolean;
  /** Clients have it, too: they may ask members, and are answered. */
  readonly isForClients: boolean;
  /** Throws what cannot work. The caller starts the driver. */
  run(ground: MountGround): Service;
}

/** Where a service runs. */
export interface MountGround {
  /** How it is set: a member's own text; for a client, the text that a majority of the members states alike. */
  readonly text: string;
  /** What this node is called: a member's id, or a client's name. */
  readonly node: string;
  /** In the order of their numbers. */
  readonly memberIds: readonly string[];
  /** `diskKept` speaks of the service's own part of the disk. */
  readonly boot: Boot;
  /** Leads to the peers that have the service, set alike; to others nothing is sent. */
  readonly link: Link;
  /** With a timer of the service's own. */
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  readonly hashKey: HashKey;
  /** The service's own part of the data directory. Only a member has one, if it has a directory and the service uses it. */
  readonly disk: Disk | undefined;
  readonly senderOf: (peer: NodeId) => Sender | undefined;
  /** Whether this peer is connected and has the service, set alike. */
  readonly shares: (peer: NodeId) => boolean;
  /** Calls that wait keep the process alive through this. */
  readonly alive: KeepAlive;
  readonly observer: Observer;
  /** Something is wrong, and the service goes on: the cell tells of it. */
  readonly ailing: (error: TenureError) => void;
  /** Ends the service on this node: `fail` of the running service is called, and the cell tells of it. Leases and other services go on. */
  readonly fail: (error: TenureError) => void;
}

/** A service that runs on this node. Its calls are its own affair. */
export interface RunningService {
  readonly driver: ServiceDriver;
  /** Whether this member takes its full part; one without this always does. */
  readonly isReady?: boolean;
  /** Whether a call waits for its answer. */
  readonly isAsked: boolean;
  /** It is over: whatever waits is rejected with this, and whatever comes is. Called once. */
  fail(error: TenureError): void;
  /** A peer has come up that has the service, set alike. */
  reached?(peer: NodeId): void;
  /** The cell is being closed, and connections are still there: whatever waits is rejected with this. */
  close?(error: TenureError): Promise<void>;
}

type ServiceDriver = Pick<Driver<unknown, never, never>, 'receive' | 'start' | 'stop'>;

interface ServiceParts<Message, Command, Event> {
  readonly core: Core<Message, Command, Event>;
  /** Called once for each side: messages to oneself are decoded while others may be in use. */
  readonly codec: () => Codec<Message>;
  readonly onEvent: (event: Event) => void;
}

/** The driver of a service's core. A core that breaks one of its own rules ends the service. */
export function driveService<Message, Command, Event>(
  ground: MountGround,
  { core, codec, onEvent }: ServiceParts<Message, Command, Event>,
): Driver<Message, Command, Event> {
  const { boot, link, clocks, chooser, disk, senderOf, fail } = ground;
  return new Driver({
    core,
    codec: codec(),
    ownCodec: codec(),
    self: boot.self,
    link,
    clocks,
    chooser,
    disk,
    senderOf,
    onEvent,
    onFailure: fail,
  });
}
