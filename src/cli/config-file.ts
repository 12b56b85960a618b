/**
 * Reads a config file, YAML or JSON (which is YAML too). Every mistake in it is told at once, each with file, line and
 * key, because a user with three typos wants to hear of three.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { didYouMean, TenureError } from '../kernel/index.ts';
import { checkSetting, PATH_KEYS, SETTING_KEYS, type SettingKey, type CliSettings } from './settings.ts';
import { whyUnreadable } from './unreadable.ts';

/** A file for as many members as a cell may have is a fraction of this. */
const FILE_BYTES_MAX = 256 * 1024;

export interface FileSettings {
  readonly settings: CliSettings;
  /** Where each was said, `tenure.yaml:3`. */
  readonly origins: Partial<Record<SettingKey, string>>;
}

export function readConfigFile(file: string): FileSettings {
  return parseConfig(file, readText(file));
}

/** The same for text that is at hand; paths in it are relative to where `file` is. */
export function parseConfig(file: string, text: string): FileSettings {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems: string[] = [];
  const complain = (offset: number | undefined, message: string): void => {
    problems.push(`${file}:${offset === undefined ? 1 : lines.linePos(offset).line}: ${message}`);
  };
  for (const { code, pos, message } of [...document.errors, ...document.warnings])
    complain(pos[0], code === 'MULTIPLE_DOCS' ? 'a second document begins here; a config file is one: remove this line' : plain(message));
  const settings: CliSettings = {};
  const origins: Partial<Record<SettingKey, string>> = {};
  const root = document.contents;
  const isSound = problems.length === 0;
  if (isSound && !isMap(root)) complain(undefined, 'a config file is a list of lines `key: value`');
  for (const { key: keyNode, value } of isSound && isMap(root) ? root.items : []) {
    const offset = isNode(keyNode) ? keyNode.range?.[0] : undefined;
    const key = String(isScalar(keyNode) ? keyNode.value : keyNode);
    if (!isKey(key)) {
      complain(offset, `${key}: there is no such setting${didYouMean(key, SETTING_KEYS)}`);
      continue;
    }
    let plainValue: unknown;
    try {
      plainValue = isNode(value) ? value.toJS(document, { maxAliasCount: 100 }) : value;
    } catch (error) {
      complain(offset, `${key}: ${plain(error instanceof Error ? error.message : String(error))}`);
      continue;
    }
    for (const { path, message } of checkSetting(key, plainValue, settings)) {
      const within = isMap(value) ? value.items.find(({ key: inner }) => isScalar(inner) && String(inner.value) === path[0]) : undefined;
      const at = within && isScalar(within.key) ? within.key.range?.[0] : offset;
      complain(at, `${[key, ...path].join('.')}: ${message}`);
    }
    const stated = settings[key];
    if (PATH_KEYS.has(key) && typeof stated === 'string') Object.assign(settings, { [key]: resolve(dirname(file), stated) });
    origins[key] = `${file}:${offset === undefined ? 1 : lines.linePos(offset).line}`;
  }
  if (problems.length > 0) throw new TenureError('TENURE_BAD_CONFIG', problems.join('\n'), { file, problems: problems.length });
  return { settings, origins };
}

function isKey(key: string): key is SettingKey {
  return (SETTING_KEYS as readonly string[]).includes(key);
}

/** The library's own sentences begin with a capital letter and may tell of a place; we tell it ourselves. */
function plain(message: string): string {
  const first = message.split('\n')[0] ?? message;
  return first.charAt(0).toLowerCase() + first.slice(1);
}

function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new TenureError('TENURE_BAD_CONFIG', `${file}: ${whyUnreadable(error)}`, { file });
  }
  if (bytes.length <= FILE_BYTES_MAX) return bytes.toString('utf8');
  throw new TenureError('TENURE_BAD_CONFIG', `${file}: ${bytes.length} bytes are no config file; ${FILE_BYTES_MAX} are the limit`, {
    file,
  });
}
