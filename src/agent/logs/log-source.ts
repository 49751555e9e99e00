// Reads the log of one component: its file in the node's folder, or its unit's messages in systemd's journal, which systemd itself attributes.
import { lstatSync } from 'node:fs'
import { timestamp, type Clock } from '#lib/clock.ts'
import { ChildLines } from '../detect/npd/child-lines.ts'
import { parseEntry, type JournalEntry } from '../detect/npd/journal.ts'
import { ENVIRONMENT } from '../detect/npd/service-state.ts'
import { Tail } from '../detect/tail.ts'
import { programOutput } from '../program-output.ts'
import type { LogPlace } from '../supervise/port.ts'
import { linesSince } from './line-time.ts'

export interface LogQuery {
  readonly tail: number
  readonly sinceMs: number | undefined
}

interface OldLines {
  readonly lines: readonly string[]
  /** What the requester must know about the lines. */
  readonly note?: string
}

/** Bytes read from a file before the answer's limits apply: masking and shortening may reduce the lines a lot. */
const MOST_OLD_BYTES = 2 ** 19
/** A slow disk must not keep a user waiting forever. */
const JOURNAL_MS = 10_000
const JOURNAL_BYTES = 4 * 2 ** 20

export interface LogSource {
  /** Existing lines. Throws with the reason when they cannot be read. */
  old(): Promise<OldLines>
  /** Continues where `old` stopped. */
  follow(onLines: (lines: readonly string[]) => void): { close(): void }
}

export const openSource = (place: LogPlace, query: LogQuery, clock: Clock): LogSource =>
  place.kind === 'File' ? fileSource(place.path, query, clock) : journalSource(place.unit, query, clock)

function fileSource(path: string, { sinceMs }: LogQuery, clock: Clock): LogSource {
  let listener: ((lines: readonly string[]) => void) | undefined
  const found: string[] = []
  const tail = new Tail({
    path,
    clock,
    cursor: undefined,
    oldBytes: MOST_OLD_BYTES,
    onLines: (lines) => (listener === undefined ? void found.push(...lines) : listener(lines)),
  })
  return {
    old: async () => {
      // The agent wrote a plain file there. A link could point to files of other owners.
      const stat = lstatSync(path, { throwIfNoEntry: false })
      if (stat === undefined) return { lines: [], note: 'the log is empty' }
      if (!stat.isFile()) throw new Error('its log is not a plain file')
      tail.start()
      tail.close()
      if (sinceMs === undefined) return { lines: found }
      const { lines, areTimed } = linesSince(found, sinceMs, clock.now())
      return areTimed ? { lines } : { lines, note: 'its lines have no times, so --since left none out' }
    },
    follow: (onLines) => {
      listener = onLines
      const { cursor } = tail
      const next = new Tail({ path, clock, cursor, onLines })
      next.start()
      return next
    },
  }
}

function journalSource(unit: string, { tail, sinceMs }: LogQuery, clock: Clock): LogSource {
  let after: string | undefined
  const command = (...more: readonly string[]): readonly string[] => [
    'journalctl',
    '--quiet',
    '--all',
    '--output=json',
    '--output-fields=MESSAGE,SYSLOG_IDENTIFIER',
    ...more,
    `_SYSTEMD_UNIT=${unit}`,
  ]
  const took = (entry: JournalEntry | undefined): readonly string[] => {
    if (entry === undefined) return []
    after = entry.cursor
    return entry.message.split('\n').map((line) => `${timestamp(entry.atMs)} ${entry.identifier}: ${line}`)
  }
  return {
    old: async () => {
      const since = sinceMs === undefined ? [] : [`--since=@${Math.floor(sinceMs / 1_000)}`]
      const [program = '', ...args] = command('--no-pager', `--lines=${tail}`, ...since)
      const bounds = { timeoutMs: JOURNAL_MS, maxBytes: JOURNAL_BYTES, environment: ENVIRONMENT }
      const { problem, stdout } = await programOutput({ program, args, ...bounds })
      if (problem !== undefined) throw new Error(`journalctl ${problem}`)
      return { lines: stdout.text.split('\n').flatMap((line) => took(parseEntry(line))) }
    },
    follow: (onLines) => {
      const reader = new ChildLines({
        command: () => command('--follow', ...(after === undefined ? ['--lines=0'] : [`--after-cursor=${after}`])),
        clock,
        onLine: (line) => onLines(took(parseEntry(line))),
        onProblem: () => undefined,
      })
      reader.start()
      return reader
    },
  }
}
