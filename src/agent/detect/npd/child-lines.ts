// Keeps a program running while it has a listener, and passes on its lines. If the program exits, it is restarted: immediately if it had written a line,
// otherwise after a growing pause, which is reported as a problem.
import { spawn, type ChildProcess } from 'node:child_process'
import type { Clock } from '#lib/clock.ts'
import { cutLines, NO_LINE, type LineState } from '../line-reader.ts'

export interface ChildLinesOptions {
  /** Called before each start: the arguments may contain the position to resume from. */
  readonly command: () => readonly string[]
  /** File descriptor passed to the program as standard input. */
  readonly stdin?: number
  readonly clock: Clock
  readonly onLine: (line: string) => void
  /** The program cannot be started, or exited. Undefined: it writes again. */
  readonly onProblem: (problem: string | undefined) => void
}

/** Pause after a program that wrote lines: its source may be overwritten meanwhile. */
const SHORT_PAUSE_MS = 50
const FIRST_PAUSE_MS = 1_000
/** A program that runs this long without output works: there is nothing to report. */
const WORKS_AFTER_MS = 5_000
const MOST_PAUSE_MS = 60_000
const NO_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

export class ChildLines {
  readonly #o: ChildLinesOptions
  #child: ChildProcess | undefined
  #line: LineState = NO_LINE
  #pauseMs = FIRST_PAUSE_MS
  #timer: { cancel(): void } | undefined
  #isClosed = false
  #isBad = false
  #hasSpoken = false
  #works: { cancel(): void } | undefined

  constructor(options: ChildLinesOptions) {
    this.#o = options
  }

  start(): void {
    if (this.#isClosed) return
    const [program = '', ...args] = this.#o.command()
    const child = spawn(program, args, { stdio: [this.#o.stdin ?? 'ignore', 'pipe', 'ignore'], env: NO_ENVIRONMENT })
    this.#child = child
    this.#line = NO_LINE
    this.#hasSpoken = false
    this.#works?.cancel()
    this.#works = this.#o.clock.after(WORKS_AFTER_MS, () => this.#isWell())
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk))
    // If a program cannot be started, there is an error event but no exit event.
    child.once('error', (e) => this.#again(`cannot run ${program}: ${e.message}`))
    child.once('close', (code, signal) => this.#again(`${program} ended: ${signal ?? code}`))
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#works?.cancel()
    this.#child?.kill('SIGKILL')
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return
    this.#hasSpoken = true
    this.#isWell()
    const { lines, state } = cutLines(this.#line, chunk)
    this.#line = state
    for (const line of lines) this.#o.onLine(line)
  }

  #again(problem: string): void {
    if (this.#isClosed || this.#timer !== undefined) return
    this.#works?.cancel()
    const pauseMs = this.#hasSpoken ? SHORT_PAUSE_MS : this.#pauseMs
    this.#timer = this.#o.clock.after(pauseMs, () => {
      this.#timer = undefined
      this.start()
    })
    if (this.#hasSpoken) return
    this.#pauseMs = Math.min(MOST_PAUSE_MS, this.#pauseMs * 2)
    this.#isBad = true
    this.#o.onProblem(problem)
  }

  #isWell(): void {
    this.#pauseMs = FIRST_PAUSE_MS
    if (this.#isBad) this.#o.onProblem(undefined)
    this.#isBad = false
  }
}
