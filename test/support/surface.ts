/** What a package shows to those who use it: the members of the types that an entry point exports, and of objects as they are at run time. */
import { EventEmitter } from 'node:events';
import { posix } from 'node:path';
import { isNode, nameOf, readSource, type SyntaxNode } from './source.ts';

type Read = (path: string) => string;

/** Every exported name of a declaration file with its members, following what it re-exports; in the order of names. */
export function typeSurface(path: string, read: Read): string[] {
  const { nodes } = readSource(path, read(path));
  const lines = nodes.flatMap((node) => {
    if (node.type === 'ExportAllDeclaration') return typeSurface(target(path, node), read);
    if (node.type !== 'ExportNamedDeclaration') return [];
    if (isNode(node['declaration'])) return [describeDeclaration(node['declaration'])];
    const from = target(path, node);
    return listOf(node['specifiers']).map((specifier) => {
      const line = declared(from, nameOf(specifier['local']) ?? '', read);
      const isTypeOnly = node['exportKind'] === 'type' || specifier['exportKind'] === 'type';
      return isTypeOnly ? line.replace(/^(\w+) class/, '$1 type') : line;
    });
  });
  return lines.toSorted();
}

/** The keys that can be reached from an object, its own and those of its prototypes, down to what the language and Node give it. */
export function objectSurface(value: object): string {
  const given = new Set<PropertyKey>(Reflect.ownKeys(new EventEmitter()));
  const keys = [`own ${shown(Reflect.ownKeys(value).filter((key) => !given.has(key)))}`];
  for (let at = protoOf(value); at !== null && !GIVEN.has(at); at = protoOf(at)) {
    keys.push(`prototype ${shown(Reflect.ownKeys(at))}`, `static ${shown(Reflect.ownKeys(at.constructor), OF_FUNCTIONS)}`);
  }
  return keys.join('; ');
}

function protoOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null;
}

const GIVEN: ReadonlySet<object> = new Set([Object.prototype, EventEmitter.prototype, Error.prototype]);
const OF_FUNCTIONS: readonly PropertyKey[] = ['length', 'name', 'prototype'];

function shown(keys: readonly PropertyKey[], without: readonly PropertyKey[] = ['constructor']): string {
  const listed = keys
    .filter((key) => !without.includes(key))
    .map((key) => String(key).replace('nodejs.asyncDispose', 'Symbol.asyncDispose'));
  return listed.length === 0 ? '-' : listed.toSorted().join(' ');
}

function declared(path: string, name: string, read: Read): string {
  const found = findDeclared(path, name, read);
  if (found === null) throw new Error(`${path} exports no ${name}`);
  return found;
}

function findDeclared(path: string, name: string, read: Read): string | null {
  for (const node of readSource(path, read(path)).nodes) {
    if (node.type === 'ExportAllDeclaration') {
      const found = findDeclared(target(path, node), name, read);
      if (found !== null) return found;
    }
    if (node.type !== 'ExportNamedDeclaration') continue;
    const { declaration } = node;
    if (isNode(declaration) && declaredName(declaration) === name) return describeDeclaration(declaration);
    const specifier = listOf(node['specifiers']).find((one) => nameOf(one['exported']) === name);
    if (specifier) return declared(target(path, node), nameOf(specifier['local']) ?? '', read);
  }
  return null;
}

function declaredName(node: SyntaxNode): string | undefined {
  const [first] = listOf(node['declarations']);
  return nameOf(first ? first['id'] : node['id']);
}

const KINDS: Readonly<Record<string, string>> = {
  ClassDeclaration: 'class',
  TSInterfaceDeclaration: 'type',
  TSTypeAliasDeclaration: 'type',
  TSDeclareFunction: 'function',
  VariableDeclaration: 'value',
};

function describeDeclaration(node: SyntaxNode): string {
  const parents = listOf(node['extends']).map((one) => nameOf(one['expression']) ?? '');
  const parent = nameOf(node['superClass']);
  const from = [...parents, ...(parent === undefined ? [] : [parent])];
  const members = new Set(membersOf(isNode(node['body']) ? node['body'] : node['typeAnnotation']));
  const listed = [...members].toSorted().join(' ');
  return `${declaredName(node)} ${KINDS[node.type] ?? node.type}${from.length > 0 ? ` extends ${from.join(', ')}` : ''}${listed && `: ${listed}`}`;
}

/** Of a class or interface, of an object type, and of every alternative of a union; a constructor is none, since nobody outside can reach it. */
function membersOf(value: unknown): string[] {
  if (!isNode(value)) return [];
  if (value.type === 'TSUnionType' || value.type === 'TSIntersectionType') return listOf(value['types']).flatMap(membersOf);
  return [...listOf(value['body']), ...listOf(value['members'])].flatMap((member) => {
    const { key } = member;
    if (!isNode(key) || key.type === 'PrivateIdentifier' || member['kind'] === 'constructor') return [];
    const symbol = key.type === 'MemberExpression' ? `[${nameOf(key['property'])}]` : undefined;
    return [`${member['static'] === true ? 'static ' : ''}${symbol ?? nameOf(key) ?? String(key['value'])}`];
  });
}

function listOf(value: unknown): SyntaxNode[] {
  return Array.isArray(value) ? value.filter((item) => isNode(item)) : [];
}

function target(path: string, node: SyntaxNode): string {
  const { source } = node;
  const module = isNode(source) ? String(source['value']) : '';
  return posix.join(posix.dirname(path), module).replace(/(?<!\.d)\.ts$|\.js$/, '.d.ts');
}
