// `npm publish` stops here until the package says where it lives. The project has no public address yet, and an invented one
// could be registered by a stranger.
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(process.argv[2] ?? new URL('../package.json', import.meta.url), 'utf8'));
const missing = ['repository', 'homepage', 'bugs'].filter((field) => !manifest[field]);
if (missing.length > 0) {
  console.error(`tenure: not published: package.json has no ${missing.join(', ')}.`);
  console.error('Once the project has a public address: npm pkg set repository=URL homepage=URL bugs=URL');
  process.exitCode = 1;
}
