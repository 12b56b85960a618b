/** The outcome of an action as lines of a script: messages, holders, violations. */
import { formatDuration, spanUs } from '../../kernel/index.ts';
import { OWN_DISK } from '../../core/index.ts';
import type { HistoryRecord } from '../../check/index.ts';
import { SIM_EPOCH_US } from '../clock.ts';
import type { AnyStage, StageNote } from '../stage/index.ts';

type Note<Kind> = Extract<StageNote, { kind: Kind }>;

/** The lines of one action, without the instant. */
export function noteLines(notes: readonly StageNote[], stage: AnyStage): string[] {
  const lines: string[] = [];
  const asked: Note<'asked'>[] = [];
  const isRecorded = notes.some((note) => note.kind === 'recorded' && note.record.kind !== 'requested' && note.record.kind !== 'claimed');
  for (const note of notes) {
    switch (note.kind) {
      case 'sent':
        break;
      case 'told':
        if (!isRecorded) lines.push(`${stage.names[note.node]} is told: ${note.text}`);
        break;
      case 'asked':
        if (asked.length > 0 && !isNext(asked, note)) lines.push(...tellAsked(asked.splice(0), stage));
        asked.push(note);
        break;
      case 'settled':
        lines.push(note.text);
        break;
      case 'recorded': {
        const line = tellRecord(note.record, stage);
        if (line !== null) lines.push(line);
        break;
      }
      case 'violation':
        lines.push(`VIOLATION of ${named(`${note.violation.property}: ${note.violation.message}`, stage)}`);
        break;
    }
  }
  return [...lines, ...tellAsked(asked, stage), ...tellSent(notes, stage)].map(shortened);
}

/** What one node sends to several at once is one line. */
function tellSent(notes: readonly StageNote[], { names }: AnyStage): string[] {
  const sends = new Map<string, { readonly from: string; readonly what: string; readonly to: string[] }>();
  for (const note of notes) {
    if (note.kind !== 'sent') continue;
    const { from, to, label, ordinal } = note.message;
    // The label begins the description: once is enough.
    const rest = note.text.startsWith(label) ? note.text.slice(label.length).trimStart() : note.text;
    const what = `${label} #${ordinal} ${rest}`.trimEnd();
    const [sender, hearer] = [names[from] ?? String(from), names[to] ?? String(to)];
    const known = sends.get(`${from} ${what}`);
    if (known) known.to.push(hearer);
    else sends.set(`${from} ${what}`, { from: sender, what, to: [hearer] });
  }
  return [...sends.values()].map(({ from, what, to }) => `${from}→${to.join(',')} ${what}`);
}

/** So many accesses of one node are told one by one. */
const ASKED_TOLD = 3;

/** The same node does the same at the same place next. */
function isNext(asked: readonly Note<'asked'>[], next: Note<'asked'>): boolean {
  const last = asked.at(-1);
  return last?.node === next.node && last.action === next.action && last.unit === next.unit;
}

function tellAsked(asked: readonly Note<'asked'>[], { names }: AnyStage): readonly string[] {
  const [first, last] = [asked[0], asked.at(-1)];
  const place = (unit: number): string => (unit === OWN_DISK ? 'its disk' : `unit ${unit}`);
  if (asked.length <= ASKED_TOLD || !first || !last)
    return asked.map(({ node, access, action, key, unit }) => `${names[node]} #${access}: ${action} ${key} of ${place(unit)}`);
  return [`${names[first.node]} #${first.access} to #${last.access}: ${first.action} ${first.key} to ${last.key} of ${place(first.unit)}`];
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
    case 'allotted':
      return `${who} HAS [${record.from}, ${record.to}] of ${record.space}`;
    case 'denied':
      return `${who} is refused its claim ${record.claim} of ${record.space}: ${record.why}`;
    case 'recalled':
      return `${who} gave up its claim ${record.claim} of ${record.space}`;
    case 'cleared':
      return `nothing of claim ${record.claim} of ${who} is left but what it has`;
    case 'decided':
      return `${who} DECIDES '${record.value}' in instance ${record.instance}`;
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
