// Uses a data directory until it is killed: `node data-dir-user.mjs PATH`. It says `open` once it has it.
import { joinCell } from 'tenure';

process.stdin.resume().on('end', () => process.exit());
await joinCell({ cell: 'test', self: 'a', members: { a: '127.0.0.1:0' }, listen: '127.0.0.1:0', dataDir: process.argv[2] ?? '' });
console.log('open');
