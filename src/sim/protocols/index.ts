/** Every protocol that can be simulated. A new one is a file beside this and a line here. */
import { simulation, type Simulation } from '../run.ts';
import { quorum } from './quorum.ts';
import { register } from './register.ts';
import { flease, fleaseLiteral, paxosLease, paxosLeaseLiteral, paxosLeaseSkewed } from './rounds.ts';
import { roundsRegister } from './rounds-register.ts';
import { toy } from './toy.ts';

export const simulations: readonly Simulation[] = [
  simulation(quorum),
  simulation(flease),
  simulation(fleaseLiteral),
  simulation(paxosLease),
  simulation(paxosLeaseSkewed),
  simulation(paxosLeaseLiteral),
  simulation(register),
  simulation(roundsRegister),
  simulation(toy),
];
