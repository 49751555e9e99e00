// A dialog with one shell on a host: a snippet goes in, its output and exit code come back. The host may answer anything at any speed, so each answer has a
// bound of bytes and a deadline, and a dialog that breaks a rule is over: nothing of it is ever used as a name, a path or a command here.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { messageOf } from '#lib/errors.ts'
import { killGroup } from '#lib/kill-group.ts'
import { Semaphore } from '#lib/semaphore.ts'
import { oneLine } from './answers.ts'

interface Ask {
  /** Text of a shell. Values in it are quoted by `quoted`. */
  readonly snippet: string
  readonly deadlineMs: number
  /** Default: enough for a line or a listing. */
  readonly maxBytes?: number
}

export interface Reply {
  readonly code: number
  readonly stdout: Buffer
  /** The end of it, as one line that controls no terminal. */
  readonly stderr: string
}

export interface Channel {
  readonly kind: 'Open'
  /** Throws when the host does not answer within the bounds, or the connection is lost; then the channel is closed for good. */
  ask(ask: Ask): Promise<Reply>
  /** Why it is closed; undefined: it is open. */
  readonly closed: string | undefined
  /** `why`: what `closed` says from then on. */
  close(why?: string): void
}

export interface NotOpened {
  readonly kind: 'Failed'
  readonly code: number | null
  readonly stderr: string
}

/** In single quotes a shell expands nothing. */
export const quoted = (text: string): string => {
  if (text.includes('\0')) throw new TypeError('a zero byte in a shell word')
  return `'${text.replaceAll("'", `'\\''`)}'`
}

const OPEN_MS = 30_000
const MAX_REPLY_BYTES = 256 * 1024
/** It is one argument of a program on the host, and Linux allows 128 KiB for each. */
const MAX_SNIPPET_BYTES = 128 * 1024 - 1
const MAX_STDERR_BYTES = 64 * 1024
const STDERR_KEPT = 400
/** Of the line after an answer: mark, exit code, end of its errors. */
const TRAILER_BYTES = 4 * STDERR_KEPT + 64

/** When the machine here loses its power, the host hears nothing, and its shell would hold the host for hours. */
const IDLE_S = 120
/** A length and a time, padded. */
const HEAD_BYTES = 24

/**
 * Reads a length and a time, then a snippet of so many bytes. `head -c` takes no byte more than that from a pipe. `timeout` ends a snippet with all its
 * processes on the host itself: no signal reaches them when the session is lost. Errors come after the output, on the line with the mark.
 */
const loop = (mark: string, prelude: string, idleS: number): string => `{
set -u
LC_ALL=C
export LC_ALL
umask 077
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
${prelude}
exec 3>&1
printf '\n%s 0\n' ${mark}
while h=$(timeout ${idleS} head -c ${HEAD_BYTES}) && [ -n "$h" ]; do
set -- $h
t=$2
c=$(timeout ${idleS} head -c "$1" && printf x) || exit 1
e=$( { { timeout -k 5 "$t" sh -c "\${c%x}" </dev/null 2>&1 >&3 3>&- 4>&- 9>&-; echo $? >&4; } | tail -c ${STDERR_KEPT} | tr '\n\r' '  '; } 4>&1 )
printf '\n%s %s\n' ${mark} "$(printf %s "$e" | tr '\n' ' ')"
done
exit 0
}
`

interface ChannelOptions {
  readonly prelude: string
  readonly signal: AbortSignal
  /** The shell on the host ends when nothing was asked for so long. */
  readonly idleS?: number
}

export async function openChannel(
  child: ChildProcess,
  { prelude, signal, idleS = IDLE_S }: ChannelOptions,
): Promise<Channel | NotOpened> {
  const mark = randomBytes(16).toString('hex')
  const dialog = new Dialog(child, mark, signal)
  // The shell reads all of it before it runs anything, so it reads ahead of nothing.
  child.stdin?.write(loop(mark, prelude, idleS))
  try {
    await dialog.answer(OPEN_MS, MAX_REPLY_BYTES)
    return dialog
  } catch (e) {
    dialog.close()
    if (!(e instanceof ChannelLost)) throw e
    return { kind: 'Failed', code: dialog.code, stderr: dialog.stderr || messageOf(e) }
  }
}

/** Nothing more can be done on the host in this session, as if the power had gone here. */
export class ChannelLost extends Error {
  constructor(why: string) {
    super(`the SSH session is lost: ${why}`)
    this.name = 'ChannelLost'
  }
}

interface Waiting {
  readonly maxBytes: number
  readonly resolve: (reply: Reply) => void
  readonly reject: (e: Error) => void
}

class Dialog implements Channel {
  readonly kind = 'Open'
  code: number | null = null
  stderr = ''
  readonly #child: ChildProcess
  readonly #mark: Buffer
  readonly #turns = new Semaphore(1, { what: 'snippets on one host' })
  #closed: string | undefined
  /** Room for an answer, and how much of it is taken. A host chooses the size of its packets: none may cost more than its own bytes. */
  #room = Buffer.alloc(0)
  #bytes = 0
  #waiting: Waiting | undefined

  constructor(child: ChildProcess, mark: string, signal: AbortSignal) {
    this.#child = child
    this.#mark = Buffer.from(`\n${mark} `)
    const abort = (): void => this.#end('aborted')
    signal.addEventListener('abort', abort, { once: true })
    child.stdin?.on('error', () => undefined)
    child.stdout?.on('data', (chunk: Buffer) => this.#take(chunk))
    child.stderr?.on('data', (chunk: Buffer) => {
      if (this.stderr.length < MAX_STDERR_BYTES) this.stderr += chunk.toString('utf8')
    })
    child.once('error', (e) => this.#end(messageOf(e)))
    child.once('close', (code) => {
      this.code = code
      signal.removeEventListener('abort', abort)
      this.#end(oneLine(this.stderr.trim().split('\n').at(-1) ?? '') || 'the connection was closed')
    })
    if (signal.aborted) abort()
  }

  get closed(): string | undefined {
    return this.#closed
  }

  ask({ snippet, deadlineMs, maxBytes = MAX_REPLY_BYTES }: Ask): Promise<Reply> {
    const bytes = Buffer.from(snippet)
    if (bytes.length > MAX_SNIPPET_BYTES) throw new RangeError(`a snippet of ${bytes.length} bytes`)
    return this.#turns.run(() => {
      if (this.#closed === undefined) {
        const head = `${bytes.length} ${Math.ceil(deadlineMs / 1_000)}`.padEnd(HEAD_BYTES)
        this.#child.stdin?.write(Buffer.concat([Buffer.from(head), bytes]))
      }
      return this.answer(deadlineMs, maxBytes)
    })
  }

  answer(deadlineMs: number, maxBytes: number): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.#closed !== undefined) return reject(new ChannelLost(this.#closed))
      const late = setTimeout(() => this.#end(`no answer within ${deadlineMs / 1_000}s`), deadlineMs)
      const settled =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(late)
          this.#waiting = undefined
          then(value)
        }
      this.#waiting = { maxBytes, resolve: settled(resolve), reject: settled(reject) }
      return undefined
    })
  }

  close(why = 'closed'): void {
    this.#end(why)
  }

  #take(chunk: Buffer): void {
    const waiting = this.#waiting
    if (waiting === undefined) return this.#end('it sent output that nothing asked for')
    if (this.#bytes + chunk.length > waiting.maxBytes + TRAILER_BYTES)
      return this.#end(`it sent more than ${waiting.maxBytes} bytes`)
    this.#append(chunk, waiting.maxBytes + TRAILER_BYTES)
    if (chunk[chunk.length - 1] !== LINE_END) return undefined
    const all = this.#room.subarray(0, this.#bytes)
    // The mark may be split over two chunks, and its line is the last.
    const from = Math.max(0, all.length - TRAILER_BYTES)
    const found = all.subarray(from).lastIndexOf(this.#mark)
    if (found === -1) return undefined
    const at = from + found
    const [code = '', ...text] = all
      .toString('utf8', at + this.#mark.length)
      .trim()
      .split(' ')
    this.#room = Buffer.alloc(0)
    this.#bytes = 0
    if (!/^\d{1,3}$/.test(code)) return this.#end('its answer ends in another form')
    return waiting.resolve({ code: Number(code), stdout: all.subarray(0, at), stderr: oneLine(text.join(' ')) })
  }

  #append(chunk: Buffer, most: number): void {
    const needed = this.#bytes + chunk.length
    if (needed > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(needed, Math.min(most, 2 * this.#room.length)))
      this.#room.copy(room, 0, 0, this.#bytes)
      this.#room = room
    }
    chunk.copy(this.#room, this.#bytes)
    this.#bytes = needed
  }

  #end(why: string): void {
    this.#closed ??= why
    killGroup(this.#child.pid)
    this.#waiting?.reject(new ChannelLost(this.#closed))
  }
}

const LINE_END = 0x0a
