/**
 * The rules of the house, each a function of a file's path and text that answers with its complaints.
 * `test/tidy.test.ts` holds every file against all of them, and plants a violation of each.
 */
import { posix } from 'node:path';
import { isNode, isSource, lineAt, nameOf, readSource, type SyntaxNode } from './source.ts';

export type Rule = (path: string, text: string) => string[];

/** A layer imports only itself and what stands before it. */
export const LAYERS = ['kernel', 'core', 'wire', 'check', 'sim', 'transport', 'store', 'runtime', 'api', 'server', 'cli'] as const;

/** Compiled without Node's types; same inputs, same outputs. */
export const PURE_LAYERS: readonly string[] = ['kernel', 'core', 'wire', 'check', 'sim'];

/** None: what the command uses is bundled into it. */
const ALLOWED_DEPENDENCIES: ReadonlySet<string> = new Set();

function layerOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function rank(layer: string | undefined): number {
  return (LAYERS as readonly (string | undefined)[]).indexOf(layer);
}

function nodesOf(path: string, text: string, wanted: (node: SyntaxNode) => boolean): number[] {
  return isSource(path)
    ? readSource(path, text)
        .nodes.filter(wanted)
        .map((node) => lineAt(text, node.start))
    : [];
}

function commentsOf(path: string, text: string): { value: string; line: number }[] {
  if (isSource(path)) return readSource(path, text).comments.map(({ value, start }) => ({ value, line: lineAt(text, start) }));
  if (!/\.ya?ml$|^\.ci\//.test(path)) return [];
  return text.split('\n').flatMap((value, index) => (value.includes('#') ? [{ value, line: index + 1 }] : []));
}

const layerOrder: Rule = (path, text) => {
  if (!path.startsWith('src/') || !isSource(path)) return [];
  const layer = layerOf(path);
  const own = rank(layer);
  if (own < 0) return [`${path}: no layer of this name; a new one needs its place in LAYERS`];
  return readSource(path, text).imports.flatMap(({ module, start }) => {
    const at = `${path}:${lineAt(text, start)}`;
    if (module === null) return [`${at}: the imported module is computed, so nobody can tell its layer`];
    if (/^tenure(?:\/|$)/.test(module)) return [`${at}: ${module} is this package: import the file`];
    if (!module.startsWith('.')) {
      return PURE_LAYERS.includes(layer ?? '') ? [`${at}: ${layer} imports ${module}, but may import only its own layers`] : [];
    }
    const target = posix.join(posix.dirname(path), module);
    const other = rank(layerOf(target));
    if (other < 0) return [`${at}: ${module} is in no layer`];
    return other > own ? [`${at}: ${layer} may not import ${LAYERS[other]}, which stands above it`] : [];
  });
};

/** The folder of an engine; '' for what engines share. */
function engineOf(path: string): string | undefined {
  const inner = /^src\/core\/leases\/(.+)$/.exec(path)?.[1];
  return inner === undefined ? undefined : posix.dirname(inner).replace(/^\.$|\/.*$/, '');
}

/** Each engine of `src/core/leases` has a folder. What engines share stands beside the folders: no folder imports another, and nothing beside them imports one. */
const enginesApart: Rule = (path, text) => {
  const own = engineOf(path);
  if (own === undefined || !isSource(path)) return [];
  return readSource(path, text).imports.flatMap(({ module, start }) => {
    const other = engineOf(posix.join(posix.dirname(path), module ?? ''));
    if (!module?.startsWith('.') || !other || other === own) return [];
    return [`${path}:${lineAt(text, start)}: imports the engine ${other}; what engines share stands in src/core/leases`];
  });
};

const layerProjects: Rule = (path, text) => {
  if (!/^src\/[^/]+\/tsconfig\.json$/.test(path)) return [];
  const layer = layerOf(path);
  const config = JSON.parse(text) as { extends?: string; references?: { path: string }[] };
  const complaints = (config.references ?? [])
    .filter((reference) => rank(posix.basename(reference.path)) < 0 || rank(posix.basename(reference.path)) >= rank(layer))
    .map((reference) => `${path}: ${layer} may not refer to ${reference.path}`);
  const base = PURE_LAYERS.includes(layer ?? '') ? '../../tsconfig.pure.json' : '../../tsconfig.node.json';
  if (config.extends !== base) complaints.push(`${path}: must extend ${base}`);
  return complaints;
};

/** What lint cannot say: see .oxlintrc.json for the rest. */
const arithmetic: Rule = (path, text) => {
  if (!PURE_LAYERS.includes(layerOf(path) ?? '')) return [];
  const isLiteral = (value: unknown) => isNode(value) && value.type === 'Literal';
  const isBigInt = (value: unknown) => isNode(value) && typeof value['bigint'] === 'string';
  const isExact = (left: unknown, right: unknown) => (isLiteral(left) && isLiteral(right)) || isBigInt(left) || isBigInt(right);
  const powers = nodesOf(path, text, ({ operator, left, right }) => operator === '**=' || (operator === '**' && !isExact(left, right)));
  const members = isSource(path) ? readSource(path, text).nodes.filter((node) => node.type === 'MemberExpression') : [];
  const read = new Set(members.map((node) => node['object']));
  const aliases = nodesOf(path, text, (node) => nameOf(node) === 'Math' && !read.has(node));
  return [
    ...powers.map((line) => `${path}:${line}: ** of variables; its last digit differs between engines`),
    ...aliases.map((line) => `${path}:${line}: Math under another name hides what is taken from it`),
  ];
};

const opening: Rule = (path, text) => {
  if (!path.startsWith('src/') || !isSource(path)) return [];
  const first = readSource(path, text).comments[0];
  const words = first?.start === 0 ? (first.value.match(/\p{L}+/gu) ?? []).length : 0;
  return words >= 4 ? [] : [`${path}:1: must open with a comment that says what lives here`];
};

const size: Rule = (path, text) => {
  if (!isSource(path)) return [];
  const limit = path.startsWith('src/') ? 500 : 600;
  const lines = text.split('\n').length - 1;
  return lines > limit ? [`${path}: ${lines} lines, and ${limit} are the limit: one idea a file`] : [];
};

/** Classes, tables and types may be longer; what runs from top to bottom is read in one go. */
const functionSize: Rule = (path, text) => {
  if (!path.startsWith('src/') || !isSource(path)) return [];
  return readSource(path, text).nodes.flatMap(({ type, start, end }) => {
    if (!/Function(?:Declaration|Expression)$/.test(type) || typeof end !== 'number') return [];
    const lines = text.slice(start, end).split('\n').length;
    return lines > 80 ? [`${path}:${lineAt(text, start)}: a function of ${lines} lines, and 80 are the limit`] : [];
  });
};

const DECLARING = new Set([
  'ClassDeclaration',
  'FunctionDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'VariableDeclarator',
]);

const names: Rule = (path, text) => {
  const complaints = /(?:^|[/._-])(?:utils?|helpers?|common|managers?)(?:[/._-]|$)/i.test(path)
    ? [`${path}: the name does not say what lives here`]
    : [];
  const vague = nodesOf(
    path,
    text,
    (node) =>
      DECLARING.has(node.type) && /^(?:[uU]tils?|[hH]elpers?|[mM]anager)$|[a-z](?:Utils?|Helpers?|Manager)$/.test(nameOf(node['id']) ?? ''),
  );
  return [...complaints, ...vague.map((line) => `${path}:${line}: the name does not say what this is`)];
};

const unfinished: Rule = (path, text) =>
  commentsOf(path, text)
    .filter(({ value }) => /\b(?:TODO|FIXME|XXX|HACK)\b/.test(value))
    .map(({ line }) => `${path}:${line}: unfinished work belongs in an issue`);

const escapes: Rule = (path, text) => [
  ...nodesOf(path, text, (node) => node.type === 'TSAnyKeyword').map((line) => `${path}:${line}: any`),
  ...commentsOf(path, text)
    .filter(({ value }) => /@ts-(?:ignore|nocheck)|(?:oxlint|eslint)-disable(?!.*\s--\s\S)|@ts-expect-error\s*$/.test(value))
    .map(({ line }) => `${path}:${line}: a check is switched off without a stated reason`),
];

const focus: Rule = (path, text) => {
  if (!path.startsWith('test/')) return [];
  const owner = (node: unknown): string | undefined =>
    isNode(node) && node.type === 'MemberExpression' ? owner(node['object']) : nameOf(node);
  const lines = nodesOf(
    path,
    text,
    (node) =>
      node.type === 'MemberExpression' &&
      /^(?:only|skip|todo)$/.test(nameOf(node['property']) ?? '') &&
      /^(?:it|test|describe|suite|bench)$/.test(owner(node['object']) ?? ''),
  );
  return lines.map((line) => `${path}:${line}: every test runs, always`);
};

/** Comments that stand under each other are one text. */
const deadCode: Rule = (path, text) => {
  if (!isSource(path)) return [];
  const blocks: { value: string; line: number; last: number }[] = [];
  for (const { type, value, start } of readSource(path, text).comments) {
    const line = lineAt(text, start);
    const previous = blocks.at(-1);
    if (type === 'Block' && value.startsWith('*')) continue;
    if (type === 'Line' && previous?.last === line - 1) {
      previous.value += `\n${value}`;
      previous.last = line;
    } else blocks.push({ value, line, last: line + value.split('\n').length - 1 });
  }
  return blocks
    .filter(({ value }) => /[;{}]\s*$/m.test(value) && readSource('comment.ts', value).ok)
    .map(({ line }) => `${path}:${line}: code in a comment`);
};

const places: Rule = (path, text) =>
  text.split('\n').flatMap((line, index) => {
    const at = `${path}:${index + 1}`;
    if (/(?:^|[\s"'`(=:,])\/(?:work|root)(?:\/|\b)/.test(line)) return [`${at}: a path of one machine`];
    return /\/\/[^\s/"']*(?:registry|artifactory|nexus|verdaccio)|\bregistry\.[\w-]+\.\w+/i.test(line)
      ? [`${at}: the host of a registry`]
      : [];
  });

/** Mutants are a core's `rules`; what people run has the default ones. */
const mutants: Rule = (path, text) => {
  if (!/^(?:src|bench|examples|chaos)\//.test(path) || /^src\/(?:core|sim)\//.test(path)) return [];
  return nodesOf(path, text, (node) => nameOf(node) === 'rules').map(
    (line) => `${path}:${line}: only the simulator changes a core's rules`,
  );
};

interface LockedPackage {
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

const lockFile: Rule = (path, text) => {
  if (path !== 'package-lock.json') return [];
  const packages = (JSON.parse(text) as { packages: Record<string, LockedPackage> }).packages;
  return Object.entries(packages).flatMap(([name, { resolved, optionalDependencies = {} }]) => [
    ...(resolved === undefined ? [] : [`${path}: ${name} has a download address`]),
    // npm leaves a platform out silently when its build is not published yet, and `npm ci` fails there.
    ...Object.keys(optionalDependencies)
      .filter((build) => !(`node_modules/${build}` in packages) && !(`${name}/node_modules/${build}` in packages))
      .map((build) => `${path}: ${name} wants ${build}, which is not locked`),
  ]);
};

const dependencies: Rule = (path, text) => {
  if (path !== 'package.json') return [];
  const described = JSON.parse(text) as { dependencies?: Record<string, string> };
  return Object.keys(described.dependencies ?? {})
    .filter((name) => !ALLOWED_DEPENDENCIES.has(name))
    .map((name) => `${path}: everyone who installs us would pull ${name}`);
};

export const RULES = {
  layerOrder,
  enginesApart,
  layerProjects,
  arithmetic,
  opening,
  size,
  functionSize,
  names,
  unfinished,
  escapes,
  focus,
  deadCode,
  places,
  mutants,
  lockFile,
  dependencies,
} as const satisfies Record<string, Rule>;

export function inspect(path: string, text: string): string[] {
  return Object.values(RULES).flatMap((rule) => rule(path, text));
}
