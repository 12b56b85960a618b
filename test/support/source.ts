/** Reads source files as syntax trees, for the rules of the house. */
import { parseSync, type Comment } from 'oxc-parser';

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

export interface Source {
  readonly comments: readonly Comment[];
  /** False if the text is no program at all. */
  readonly ok: boolean;
  /** Every node, parents before children. */
  readonly nodes: readonly SyntaxNode[];
  /** The modules it imports or re-exports, types included; null for one computed at run time. */
  readonly imports: readonly { readonly module: string | null; readonly start: number }[];
}

const sources = new Map<string, Source>();

export function isSource(path: string): boolean {
  return /\.(?:ts|js|mjs)$/.test(path);
}

export function readSource(path: string, text: string): Source {
  const key = `${path}\n${text}`;
  const known = sources.get(key);
  if (known) return known;
  const parsed = parseSync(path, text, { sourceType: 'module' });
  const nodes: SyntaxNode[] = [];
  collect(parsed.program, nodes);
  const source = { comments: parsed.comments, ok: parsed.errors.length === 0, nodes, imports: importsOf(nodes) };
  sources.set(key, source);
  return source;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** The name of an identifier; undefined for anything else. */
export function nameOf(value: unknown): string | undefined {
  return isNode(value) && value.type === 'Identifier' && typeof value['name'] === 'string' ? value['name'] : undefined;
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function collect(value: unknown, into: SyntaxNode[]): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, into);
  } else if (isNode(value)) {
    into.push(value);
    for (const child of Object.values(value)) collect(child, into);
  }
}

const IMPORTING = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
  'TSExternalModuleReference',
]);

function importsOf(nodes: readonly SyntaxNode[]): Source['imports'] {
  return nodes.flatMap((node) => {
    if (!IMPORTING.has(node.type)) return [];
    const source = node['source'] ?? node['argument'] ?? node['expression'];
    if (!isNode(source)) return [];
    const literal = source.type === 'TSLiteralType' && isNode(source['literal']) ? source['literal'] : source;
    return [{ module: typeof literal['value'] === 'string' ? literal['value'] : null, start: node.start }];
  });
}
