/** What came of an action, as the lines a script shows: who sent what to whom, who holds what, what was broken. */
import { formatDuration, spanUs } from '../../kernel/index.ts';
import type { HistoryRecord } from '../../check/index.ts';
import { SIM_EPOCH_US } from '../clock.ts';
import type { AnyStage, StageNote } from '../stage/index.ts';

/** The lines of one action, without the instant. */
export function tell(notes: readonly StageNote[], stage: AnyStage): string[] {
  const lines: string[] = [];
  const asked: string[] = [];
  const sends: { readonly from: string; readonly what: string; readonly to: string[] }[] = [];
  const isRecorded = notes.some(({ kind, record }) => kind === 'recorded' && record?.kind !== 'requested');
  for (const { kind, text, record } of notes) {
    switch (kind) {
      case 'sent': {
        // The label is in the reference and begins the description: once is enough.
        const [, from = '', to = '', what = ''] = /^(.+)→(\S+) (.+)$/.exec(text.replace(/(\S+) (#\d+): \1\s*/, '$1 $2 ')) ?? [];
        const last = sends.find((one) => one.from === from && one.what === what);
        if (last) last.to.push(to);
        else sends.push({ from, what, to: [to] });
        break;
      }
      case 'told':
        if (!isRecorded) lines.push(text);
        break;
      case 'asked':
        asked.push(text);
        if (asked.length > 1 && !isNext(asked.at(-2) ?? '', text)) lines.push(...toldAtOnce(asked.splice(0, asked.length - 1)));
        break;
      case 'settled':
        lines.push(text);
        break;
      case 'recorded': {
        const line = record ? tellRecord(record, stage) : null;
        if (line !== null) lines.push(line);
        break;
      }
      case 'violation':
        lines.push(`VIOLATION of ${named(text, stage)}`);
        break;
    }
  }
  lines.push(...toldAtOnce(asked));
  return [...lines, ...sends.map(({ from, what, to }) => `${from}→${to.join(',')} ${what}`)].map(shortened);
}

const ASKED = /^(\S+) #(\d+): (read|write|swap|erase|list) (\S*) of (.+)$/;
/** So many accesses of one node are told one by one. */
const ASKED_TOLD = 3;

/** The same node does the same at the same place next. */
function isNext(before: string, text: string): boolean {
  const [[, node, , verb, , where], [, nextNode, , nextVerb, , nextWhere]] = [ASKED.exec(before) ?? [], ASKED.exec(text) ?? []];
  return node === nextNode && verb === nextVerb && where === nextWhere;
}

function toldAtOnce(asked: readonly string[]): readonly string[] {
  const [first, last] = [ASKED.exec(asked[0] ?? ''), ASKED.exec(asked.at(-1) ?? '')];
  if (asked.length <= ASKED_TOLD || !first || !last) return asked;
  return [`${first[1]} #${first[2]} to #${last[2]}: ${first[3]} ${first[4]} to ${last[4]} of ${first[5]}`];
}

function tellRecord(record: HistoryRecord, stage: AnyStage): string | null {
  const who = stage.names[Number(record.node)] ?? String(record.node);
  const left = (us: number): string => `${us < 0 ? '-' : ''}${formatDuration(spanUs(Math.abs(us)))}`;
  switch (record.kind) {
    case 'granted':
      return `${who} HOLDS ${record.resource} for ${left(record.remainingUs)} on its own clock, token ${record.token}`;
    case 'renewed':
      return `${who} holds ${record.resource} for ${left(record.remainingUs)} from here on its own clock`;
    case 'used':
      return `${who} uses ${record.resource}, ${left(record.remainingUs)} before its deadline`;
    case 'ended':
      return `${who} no longer holds ${record.resource}: ${record.reason}`;
    case 'believed':
      return `${who} believes that ${record.resource} is held, token ${record.token}`;
    case 'queued':
      return `${who} stands in line for ${record.resource}`;
    case 'abandoned':
      return `${who} gave up its request ${record.request} for ${record.resource}`;
    case 'crashed':
      return `${who} is gone, with all it held`;
    case 'responded':
      return record.value === undefined
        ? `${who} has written ${record.register}`
        : `${who} read ${record.register}: ${record.value ?? 'nothing'}`;
    case 'committed':
      return record.value === undefined
        ? `${who} is committed: it has written`
        : `${who} is committed: it read ${record.value ?? 'nothing'}`;
    case 'aborted':
      return `${who} is aborted`;
    default:
      return null;
  }
}

/** A referee's sentence with the names of the stage. */
function named(text: string, stage: AnyStage): string {
  return text.replace(/\bnode (\d+)#(\d+)/g, (_, node: string, start: string) => `${stage.names[Number(node)] ?? node}#${start}`);
}

/** The ballot of Flease's bucket in which the wall clocks of a stage begin, with nothing drawn and nothing counted: 65 536 ballots to 60 ms. */
const BUCKET_BALLOT = (SIM_EPOCH_US / 60_000) * 65_536;

/**
 * Ballots and tokens are wall-clock microseconds: shown as seconds since the wall clocks of the stage began. Flease's ballots
 * count on from a bucket of time: shown as how far they are from the first one.
 */
function shortened(line: string): string {
  return line
    .replace(/\b1[78]\d{14}\b/g, (digits) => `@${(Number(digits) - SIM_EPOCH_US) / 1_000_000}`)
    .replace(/\b19[5-7]\d{13}\b/g, (digits) => {
      const fromFirst = Number(digits) - BUCKET_BALLOT;
      return fromFirst < 0 ? String(fromFirst) : `+${fromFirst}`;
    });
}
