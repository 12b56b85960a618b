/** Exported things that a reader takes for each other: two of the same name, or two whose names differ in capitals only. */
import { isNode, isSource, lineAt, nameOf, readSource, type SyntaxNode } from './source.ts';

interface Exported {
  readonly name: string;
  readonly at: string;
  /** Of a function, the text of the type it returns; otherwise empty. */
  readonly returns: string;
}

/**
 * One line for each name of `src` that is declared and exported more than once. Re-exports declare nothing. A function may have the name of
 * the type it makes (`nodeId(): NodeId`), and a constant in capitals is told from everything else by them (`HELLO`, `Hello`).
 */
export function sharedNames(files: readonly string[], read: (path: string) => string | undefined): string[] {
  const groups = new Map<string, Exported[]>();
  for (const path of files.filter((file) => file.startsWith('src/') && isSource(file))) {
    for (const exported of exportsOf(path, read(path) ?? '')) {
      const key = /^[A-Z][A-Z0-9_]+$/.test(exported.name) ? exported.name : `${exported.name.toLowerCase()} `;
      groups.set(key, [...(groups.get(key) ?? []), exported]);
    }
  }
  return [...groups.values()]
    .filter((group) => group.some((one, i) => group.slice(i + 1).some((other) => !makes(one, other) && !makes(other, one))))
    .map((group) => `exported more than once: ${group.map(({ name, at }) => `${name} (${at})`).join(', ')}`);
}

function makes(maker: Exported, made: Exported): boolean {
  return maker.name !== made.name && new RegExp(`\\b${made.name}\\b`).test(maker.returns);
}

/** What a file declares and exports. The overloads of a function are one thing. */
function exportsOf(path: string, text: string): Exported[] {
  const { nodes } = readSource(path, text);
  const declared = new Map(nodes.flatMap(declaredIn).map((node) => [nameOf(node['id']), node]));
  const exporting = nodes.filter((node) => node.type === 'ExportNamedDeclaration' && !isNode(node['source']));
  const names = exporting.flatMap((node) => [
    ...declaredIn(node['declaration']).map(({ id }) => ({ local: nameOf(id), name: nameOf(id) })),
    ...listOf(node['specifiers']).map(({ local, exported }) => ({ local: nameOf(local), name: nameOf(exported) })),
  ]);
  const found = names.flatMap(({ local, name }): [string, Exported][] => {
    const node = declared.get(local);
    if (name === undefined || node === undefined) return [];
    return [[name, { name, at: `${path}:${lineAt(text, node.start)}`, returns: textOf(node['returnType'], text) }]];
  });
  return [...new Map(found).values()];
}

/** The named declarations that a statement is. */
function declaredIn(statement: unknown): SyntaxNode[] {
  if (!isNode(statement)) return [];
  return statement.type === 'VariableDeclaration' ? listOf(statement['declarations']) : isNode(statement['id']) ? [statement] : [];
}

function listOf(value: unknown): SyntaxNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function textOf(node: unknown, text: string): string {
  return isNode(node) && typeof node['end'] === 'number' ? text.slice(node.start, node['end']) : '';
}
