/** Follows the relative links of Markdown pages, anchors included. */
import { posix } from 'node:path';

/** Complaints about links of `path` that lead nowhere. `read` answers with a file's text, or undefined where there is no file. */
export function brokenLinks(path: string, text: string, read: (path: string) => string | undefined): string[] {
  return linksIn(text).flatMap((link) => {
    if (/^[a-z][a-z+.-]*:/i.test(link)) return [];
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : posix.join(posix.dirname(path), decodeURIComponent(file));
    const found = target === path ? text : read(target);
    if (found === undefined) return [`${path}: ${link} leads nowhere`];
    const missing = anchor !== undefined && target.endsWith('.md') && !anchorsIn(found).has(anchor);
    return missing ? [`${path}: ${target} has no heading #${anchor}`] : [];
  });
}

function prose(text: string): string {
  return text.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[`~]*$/gm, '');
}

function linksIn(text: string): string[] {
  const visible = prose(text).replace(/`[^`\n]*`/g, '');
  const inline = visible.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g);
  const defined = visible.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm);
  return [...inline, ...defined].map((match) => match[1] ?? '');
}

/** As GitHub makes them: lower case, no punctuation, blanks to hyphens, a number after a repeated one. */
function anchorsIn(text: string): Set<string> {
  const anchors = new Set<string>();
  const visible = prose(text);
  for (const [, id] of visible.matchAll(/<a (?:id|name)="([^"]+)"/g)) if (id !== undefined) anchors.add(id);
  for (const [, heading = ''] of visible.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  return anchors;
}
