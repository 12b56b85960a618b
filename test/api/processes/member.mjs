// A member of a cell, in a process of its own: `node member.mjs OPTIONS`, the options of `joinCell` as JSON. It says
// `ready` when its silence is over, and ends with its input.
import { joinCell } from 'tenure';

process.stdin.resume().on('end', () => process.exit());
const cell = await joinCell(JSON.parse(process.argv[2] ?? '{}'));
await cell.ready();
console.log('ready');
