// Feeds messages to one log monitor: from the kernel's log, the journal or a file. Old messages only within the monitor's lookback. New ones always,
// whatever their timestamp, because clocks jump.
import { statSync } from 'node:fs'
import { uptime } from 'node:os'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { Tail, type Cursor } from '../tail.ts'
import { fileLineReader } from './file-line.ts'
import type { JournalHub, JournalMember } from './journal-hub.ts'
import { KmsgReader, parseKmsg, type KmsgRecord } from './kmsg.ts'
import type { LogMonitorConfig } from '#api/agent-config/monitor-config.ts'

/** Where reading stopped; survives restarts of the agent. */
export type Position =
  | ({ readonly kind: 'file' } & Cursor)
  | { readonly kind: 'kmsg'; readonly bootId: string; readonly sequence: number }
  | { readonly kind: 'journal'; readonly cursor: string; readonly atMs: number }

export interface Feed {
  readonly position: Position | undefined
  start(): void
  close(): void
}

export interface FeedOptions {
  readonly config: LogMonitorConfig
  /** Default: this machine's path. */
  readonly path: string
  readonly bootId: string
  readonly clock: Clock
  /** The journal at that path, shared by its readers. */
  readonly journal: (path: string) => JournalHub
  readonly position: Position | undefined
  /** False: the line need not be parsed. */
  readonly mayMatter: (line: string) => boolean
  readonly onMessage: (message: string) => void
  readonly onLost: (records: number) => void
  readonly onProblem: (problem: string | undefined) => void
  readonly pollMs?: number
}

/** How far back a log that was never read is searched: five minutes of a relevant log are shorter. */
const OLD_BYTES = 4 * 2 ** 20

export function openFeed(o: FeedOptions): Feed {
  const { plugin } = o.config
  switch (plugin.kind) {
    case 'kmsg':
      return kmsgFeed(o)
    case 'journald':
      return journalFeed(o, plugin.identifier)
    case 'filelog':
      return fileFeed(o, plugin)
    default:
      return assertNever(plugin)
  }
}

const isSkipped = ({ skip }: LogMonitorConfig, line: string): boolean => skip.some((s) => line.includes(s))

/** Time since boot, including suspend; close enough to the kernel's timestamps. */
const upMs = (): number => uptime() * 1_000

function kmsgFeed(o: FeedOptions): Feed {
  const { config, path, bootId, clock, position } = o
  const known = position?.kind === 'kmsg' && position.bootId === bootId ? position.sequence : undefined
  // A node that is a folder has a file instead of the device.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return recordFileFeed(o)
  const from = Math.max(config.delayMs, upMs() - config.lookbackMs)
  const reader = new KmsgReader({
    path,
    clock,
    after: known,
    onRecord: ({ atMs, message }: KmsgRecord) => {
      const isWanted = message !== '' && (known === undefined ? atMs >= from : atMs >= config.delayMs)
      if (isWanted && !isSkipped(config, message)) o.onMessage(message)
    },
    onLost: o.onLost,
    onProblem: o.onProblem,
  })
  return {
    get position(): Position | undefined {
      return reader.last === undefined ? undefined : { kind: 'kmsg', bootId, sequence: reader.last }
    },
    start: () => reader.start(),
    close: () => reader.close(),
  }
}

const cursorOf = (position: Position | undefined): Cursor | undefined =>
  position?.kind === 'file' ? { inode: position.inode, offset: position.offset } : undefined

const tailFeed = (tail: Tail): Feed => ({
  get position(): Position {
    return { kind: 'file', ...tail.cursor }
  },
  start: () => tail.start(),
  close: () => tail.close(),
})

function recordFileFeed({ config, path, clock, position, onMessage, pollMs }: FeedOptions): Feed {
  const onLines = (lines: readonly string[]): void => {
    for (const line of lines) {
      const message = parseKmsg(line)?.message ?? ''
      if (message !== '' && !isSkipped(config, message)) onMessage(message)
    }
  }
  return tailFeed(new Tail({ path, clock, cursor: cursorOf(position), onLines, ...defined({ pollMs }) }))
}

function fileFeed(o: FeedOptions, plugin: Parameters<typeof fileLineReader>[0]): Feed {
  const { config, path, clock, position, pollMs } = o
  const read = fileLineReader(plugin)
  const from = clock.now() - Math.min(config.lookbackMs, Math.max(0, upMs() - config.delayMs))
  const onLines = (lines: readonly string[], isOld: boolean): void => {
    const now = clock.now()
    if (upMs() < config.delayMs) return
    for (const line of lines) {
      const entry = !o.mayMatter(line) || isSkipped(config, line) ? undefined : read(line, now)
      if (entry !== undefined && (!isOld || entry.atMs >= from)) o.onMessage(entry.message)
    }
  }
  return tailFeed(
    new Tail({
      path,
      clock,
      cursor: cursorOf(position),
      onLines,
      oldBytes: OLD_BYTES,
      ...defined({ pollMs }),
    }),
  )
}

function journalFeed(o: FeedOptions, identifier: string): Feed {
  const { config, path, clock, position } = o
  const hub = o.journal(path)
  const member: JournalMember = {
    identifier,
    sinceMs: clock.now() - Math.min(config.lookbackMs, Math.max(0, upMs() - config.delayMs)),
    after: position?.kind === 'journal' ? position : undefined,
    onEntry: ({ message }) => {
      if (!isSkipped(config, message)) o.onMessage(message)
    },
    onProblem: o.onProblem,
  }
  hub.join(member)
  return {
    get position(): Position | undefined {
      return hub.position === undefined ? undefined : { kind: 'journal', ...hub.position }
    },
    start: () => hub.start(),
    close: () => hub.leave(member),
  }
}

export function parsePosition(v: unknown): Position | undefined {
  if (!isObject(v)) return undefined
  const isFile = v['kind'] === 'file' && Number.isSafeInteger(v['inode']) && Number.isSafeInteger(v['offset'])
  const isKmsg = v['kind'] === 'kmsg' && typeof v['bootId'] === 'string' && Number.isSafeInteger(v['sequence'])
  const isJournal = v['kind'] === 'journal' && typeof v['cursor'] === 'string' && typeof v['atMs'] === 'number'
  return isFile || isKmsg || isJournal ? (v as unknown as Position) : undefined
}
