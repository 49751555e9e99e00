// Reads systemd's journal through journalctl: journal files may be compressed, sealed and rotated in ways that only journalctl follows, and it is
// installed with every journal. One process serves all identifiers of one journal.
import { existsSync } from 'node:fs'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { ChildLines } from './child-lines.ts'

export interface JournalEntry {
  readonly identifier: string
  readonly message: string
  readonly atMs: number
  readonly cursor: string
  /** Whether the sender may use this identifier. Any local user can write `logger -t kernel …`. */
  readonly isTrusted: boolean
}

export function parseEntry(line: string): JournalEntry | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const [identifier, cursor] = [value['SYSLOG_IDENTIFIER'], value['__CURSOR']]
  const message = fieldText(value['MESSAGE'])
  const atMs = Number(value['__REALTIME_TIMESTAMP']) / 1_000
  return typeof identifier === 'string' && typeof cursor === 'string' && message !== undefined && Number.isFinite(atMs)
    ? { identifier, message: message.trim(), atMs, cursor, isTrusted: isTrusted(identifier, value) }
    : undefined
}

/**
 * Checks the fields that journald itself sets; the identifier is chosen by the sender. Kernel entries must come from the kernel. Others must come from
 * root, or from the unit of that name, which may run as its own user. A unit with another name proves nothing: cron runs every user's programs.
 */
const isTrusted = (identifier: string, fields: Readonly<Record<string, unknown>>): boolean =>
  identifier === 'kernel'
    ? fields['_TRANSPORT'] === 'kernel'
    : fields['_UID'] === '0' || fields['_SYSTEMD_UNIT'] === `${identifier}.service`

/** A message that is not text arrives as a list of bytes. */
const fieldText = (v: unknown): string | undefined =>
  typeof v === 'string'
    ? v
    : Array.isArray(v) && v.every((b) => typeof b === 'number')
      ? Buffer.from(v).toString('utf8')
      : undefined

export interface JournalQuery {
  readonly path: string
  readonly identifiers: readonly string[]
  readonly sinceMs: number
  readonly follow: boolean
  readonly after?: string | undefined
}

export const journalArguments = ({ path, identifiers, sinceMs, follow, after }: JournalQuery): readonly string[] => [
  'journalctl',
  '--quiet',
  '--all',
  '--output=json',
  '--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_TRANSPORT,_UID,_SYSTEMD_UNIT',
  ...(path === '' ? [] : [`--directory=${path}`]),
  ...(follow ? ['--follow', '--no-tail'] : ['--no-pager']),
  after === undefined ? `--since=@${Math.floor(sinceMs / 1_000)}` : `--after-cursor=${after}`,
  ...identifiers.map((i) => `--identifier=${i}`),
]

export interface JournalOptions {
  readonly path: string
  readonly identifiers: readonly string[]
  readonly clock: Clock
  /** Without a cursor: read entries from this time on. */
  readonly sinceMs: number
  readonly after: string | undefined
  readonly onEntry: (entry: JournalEntry) => void
  readonly onProblem: (problem: string | undefined) => void
}

export class JournalReader {
  readonly #o: JournalOptions
  readonly #lines: ChildLines
  #cursor: string | undefined

  constructor(options: JournalOptions) {
    this.#o = options
    this.#cursor = options.after
    const { path, identifiers, sinceMs, clock, onProblem } = options
    this.#lines = new ChildLines({
      command: () => journalArguments({ path, identifiers, sinceMs, follow: true, after: this.#cursor }),
      clock,
      onLine: (line) => this.#read(line),
      onProblem: (problem) =>
        onProblem(problem !== undefined && path !== '' && !existsSync(path) ? `${path} is not there` : problem),
    })
  }

  get cursor(): string | undefined {
    return this.#cursor
  }

  start(): void {
    this.#lines.start()
  }

  close(): void {
    this.#lines.close()
  }

  #read(line: string): void {
    const entry = parseEntry(line)
    if (entry === undefined) return
    this.#cursor = entry.cursor
    if (entry.isTrusted) this.#o.onEntry(entry)
  }
}
