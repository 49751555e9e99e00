// The break-glass file: while `frozen` exists in the node's folder, the agent disrupts nothing on the node, whether or not the API server is reachable.
// An unknown state counts as frozen.
import { basename, dirname } from 'node:path'
import { timestamp, type Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Condition } from '#api/schema/object.ts'
import type { Files } from './files/port.ts'
import type { WatchFolder } from './files/folder-watch.ts'
import { frozenFile, type NodeDir } from './node-dir.ts'
import { EACH_TICK_MS } from './shared-tick.ts'
import { shortened } from '#lib/shortened.ts'

export interface Frozen {
  /** The content of the file, or why it cannot be read. */
  readonly why: string
  /** When the file was written; undefined when unknown. */
  readonly sinceMs: number | undefined
}

/** Users write one line. Any other entry at that path also freezes the node, and is not read. */
const MOST_BYTES = 4_096
const MOST_SHOWN = 100

export async function readFrozen(files: Files, dir: NodeDir): Promise<Frozen | undefined> {
  const path = frozenFile(dir)
  try {
    const found = await files.stat(path)
    if (found === undefined) return undefined
    const isText = found.kind === 'File' && found.size > 0 && found.size <= MOST_BYTES
    const text = isText ? ((await files.read(path)) ?? Buffer.alloc(0)).toString('utf8') : ''
    return { why: firstLine(text) || 'no reason given', sinceMs: found.modifiedMs }
  } catch (e) {
    return { why: `cannot read the freeze file, treated as frozen: ${firstLine(messageOf(e))}`, sinceMs: undefined }
  }
}

/** For callers that are about to disrupt something. */
export const isNodeFrozen = (files: Files, dir: NodeDir) => async (): Promise<boolean> =>
  (await readFrozen(files, dir)) !== undefined

const firstLine = (text: string): string => {
  const [line = ''] = text.replaceAll(/[^\P{Cc}\n]/gu, ' ').split('\n')
  return [...line.trim()].slice(0, MOST_SHOWN).join('')
}

/** Condition for the Machine; undefined while the node is not frozen. */
export const frozenCondition = (frozen: Frozen | undefined, path: string): Condition | undefined =>
  frozen === undefined
    ? undefined
    : {
        type: 'Frozen',
        status: 'True',
        reason: 'HoldFreeze',
        message: shortened(`by ${path} on the node: ${frozen.why}`, MOST_MESSAGE),
        lastTransitionTime: timestamp(frozen.sinceMs ?? 0),
      }

const MOST_MESSAGE = 200
/** When a user removes the file, work resumes immediately. */
const POLL_MS = EACH_TICK_MS
/** Interval where the file system reports changes. */
const RECHECK_MS = 30_000

export interface FrozenWatchDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  /** Absent: the file is polled instead. */
  readonly watchFolder?: WatchFolder
  readonly onChange: () => void
}

/** For the status. Code that is about to disrupt something reads the file itself, right before. */
export class FrozenWatch {
  readonly #deps: FrozenWatchDeps
  #frozen: Frozen | undefined
  #timer: { cancel(): void } | undefined
  #watcher: { close(): void } | undefined
  #isChecking = false
  #isTouched = false
  #isClosed = false

  constructor(deps: FrozenWatchDeps) {
    this.#deps = deps
  }

  get frozen(): Frozen | undefined {
    return this.#frozen
  }

  async check(): Promise<void> {
    const { files, dir, clock, log, onChange } = this.#deps
    const read = await readFrozen(files, dir)
    const before = this.#frozen
    // If the file has no timestamp, use the time when the agent first observed it.
    const now = read && { ...read, sinceMs: read.sinceMs ?? before?.sinceMs ?? clock.now() }
    this.#frozen = now
    if (this.#isClosed || (before?.why === now?.why && before?.sinceMs === now?.sinceMs)) return
    log.warn(now === undefined ? 'node thawed' : 'node frozen', {
      file: frozenFile(dir),
      reason: now?.why ?? 'file removed',
    })
    onChange()
  }

  async start(): Promise<void> {
    this.#isChecking = true
    do {
      this.#isTouched = false
      // Start the watch before the check: a change in between is reported as an event.
      this.#listen()
      await this.check()
    } while (this.#isTouched && !this.#isClosed)
    this.#isChecking = false
    if (this.#isClosed) return
    const waitMs = this.#watcher === undefined ? POLL_MS : RECHECK_MS
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(waitMs, () => void this.start())
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#stopListening()
  }

  #listen(): void {
    const { dir, watchFolder } = this.#deps
    const path = frozenFile(dir)
    this.#watcher ??= watchFolder?.(dirname(path), (name) => {
      if (name !== undefined && name !== basename(path)) return
      if (name === undefined) this.#stopListening()
      this.#isTouched = true
      if (!this.#isChecking && !this.#isClosed) void this.start()
    })
  }

  #stopListening(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }
}
