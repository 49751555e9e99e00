// Where the programs of a real cluster run: on this host, or in namespaces of their own (see sealed-host.ts). Each writes a log that failures quote.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '#test/support/tools/processes.ts'

export interface Place {
  /** Where the API server listens. */
  readonly address: string
  /** Command line that runs a program there. */
  readonly enter: readonly string[]
}

export const thisHost: Place = { address: '127.0.0.1', enter: [] }

/** The kernel ends a program with the process that started it: a test that is killed cannot. Programs in namespaces end with these. */
const SETPRIV = '/usr/bin/setpriv'
const withUs: readonly string[] = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--'] : []

/** How much of a log is quoted. */
const LAST_LINES = 15

export class Programs {
  readonly #place: Place
  readonly #folder: string
  readonly #children = new Map<string, ChildProcess>()

  constructor(place: Place, folder: string) {
    this.#place = place
    this.#folder = join(folder, 'logs')
    mkdirSync(this.#folder, { recursive: true })
  }

  start(name: string, file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
    const log = openSync(this.#logOf(name), 'a')
    const [command = file, ...rest] = [...withUs, ...this.#place.enter, file, ...args]
    const child = spawn(command, rest, { stdio: ['ignore', log, log], env: { ...process.env, ...env } })
    closeSync(log)
    child.once('error', () => undefined)
    this.#children.set(name, child)
  }

  pid(name: string): number {
    return this.#children.get(name)?.pid ?? 0
  }

  /** Throws when one ended, with the end of its log. */
  check(): void {
    for (const [name, { exitCode, signalCode }] of this.#children)
      if (exitCode !== null || signalCode !== null)
        throw new Error(`${name} ended with ${exitCode ?? signalCode}:\n${this.tail(name)}`)
  }

  tail(name: string): string {
    return readFileSync(this.#logOf(name), 'utf8').trimEnd().split('\n').slice(-LAST_LINES).join('\n')
  }

  /** The last one first: what depends on others ends before them. */
  async stop(graceMs: number): Promise<void> {
    for (const [name] of [...this.#children].toReversed()) await this.end(name, graceMs)
  }

  async end(name: string, graceMs: number): Promise<void> {
    const child = this.#children.get(name)
    this.#children.delete(name)
    if (child === undefined || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((done) => child.once('exit', done))
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), graceMs)
    await ended
    clearTimeout(late)
  }

  #logOf(name: string): string {
    return join(this.#folder, `${name}.log`)
  }
}

/** Waits until a program answers; fails at once, with its log, when any of them ends. */
export async function untilUp(
  programs: Programs,
  name: string,
  withinMs: number,
  look: () => Promise<true | undefined>,
): Promise<void> {
  let ended: unknown
  const up = () => {
    try {
      programs.check()
    } catch (error) {
      ended = error
      return true as const
    }
    return look()
  }
  await until(`${name} answers`, up, withinMs).catch((e: unknown) => {
    throw new Error(`${String(e)}\n${programs.tail(name)}`)
  })
  if (ended !== undefined) throw ended
}
