// The processes of one control plane: they exit with it, and those left by a killed host are ended before the next start.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, fstatSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { ProgramName } from '../../programs.ts'
import { printableLine } from '#lib/printable.ts'

const GRACE_MS = 10_000
const POLL_MS = 50
const PIDS = 'programs.json'
/** The programs have full paths; the helper that ends them with this process is in here. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

interface Started {
  readonly name: ProgramName
  readonly child: ChildProcess
  readonly ended: Promise<void>
}

const BYTES = 1_000
const MOST = 300

/** The end of a program's log, for a message. */
function boundedTail(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, BYTES))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    return printableLine(bytes.toString('utf8').trim().split('\n').at(-1) ?? '').slice(-MOST)
  } finally {
    closeSync(file)
  }
}

export class RunningPrograms {
  readonly #data: string
  readonly #clock: Clock
  readonly #started: Started[] = []
  readonly #failure = Promise.withResolvers<never>()
  #isEnding = false

  constructor(data: string, clock: Clock) {
    this.#data = data
    this.#clock = clock
    this.#failure.promise.catch(() => undefined)
  }

  /** Rejects if one of them exits before `stop`. */
  get failed(): Promise<never> {
    return this.#failure.promise
  }

  start(name: ProgramName, file: string, args: readonly string[]): void {
    const log = openSync(this.#log(name), 'w', 0o600)
    const [command = file, ...all] = endingWithUs(file, args)
    const child = spawn(command, all, { stdio: ['ignore', log, log], env: { PATH: SYSTEM_PATH } })
    closeSync(log)
    const ended = new Promise<void>((resolve) => {
      const end = (how: string) => {
        resolve()
        if (!this.#isEnding) this.#failure.reject(new Error(`${name} ended (${how}): ${boundedTail(this.#log(name))}`))
      }
      child.once('error', (e) => end(e.message))
      child.once('exit', (code, signal) => end(signal ?? `exit ${String(code)}`))
    })
    this.#started.push({ name, child, ended })
    const pids = this.#started.flatMap((s) => s.child.pid ?? [])
    writeWholeFile(join(this.#data, PIDS), JSON.stringify({ pids }))
  }

  /** Stops in reverse order of starting: the store outlives its writers. */
  async stop(): Promise<void> {
    this.#isEnding = true
    for (const { child, ended } of this.#started.toReversed()) {
      child.kill('SIGTERM')
      const late = new AbortController()
      const grace = this.#clock.sleep(GRACE_MS, late.signal).then(
        () => child.kill('SIGKILL'),
        () => undefined,
      )
      await ended
      late.abort()
      await grace
    }
  }

  #log = (name: ProgramName): string => join(this.#data, `${name}.log`)
}

const SETPRIV = '/usr/bin/setpriv'

/** If the kernel supports it, a program exits together with this process; elsewhere the next start ends it. */
export const endingWithUs = (file: string, args: readonly string[]): readonly string[] =>
  existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', file, ...args] : [file, ...args]

/** Pids are reused: only end a process whose command names this folder. */
export async function endLeft(data: string, clock: Clock): Promise<void> {
  const file = join(data, PIDS)
  if (!existsSync(file)) return
  const left = pidsIn(readFileSync(file, 'utf8')).filter((pid) => isOf(pid, data))
  for (const pid of left) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It just exited.
    }
    while (isOf(pid, data)) await clock.sleep(POLL_MS)
  }
}

function pidsIn(text: string): readonly number[] {
  const seen: unknown = JSON.parse(text)
  const pids = isObject(seen) ? seen['pids'] : undefined
  return Array.isArray(pids) ? pids.filter((p): p is number => Number.isInteger(p)) : []
}

function isOf(pid: number, data: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${data}/`)
  } catch {
    return false
  }
}
