// Runs benchmarks as processes of their own, a few at once, each within a bound: one that fails or hangs takes none of the others along, and leaves no process behind.
import { spawn } from 'node:child_process'
import { isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import { aligned } from './history.ts'

export interface Ran {
  readonly bench: string
  readonly seconds: number
  /** The line of JSON that it printed last; undefined when it failed. */
  readonly line?: Readonly<Record<string, unknown>>
  readonly problem?: string
}

export interface RunAll {
  /** Runs one benchmark when its name and these arguments follow. */
  readonly command: readonly [string, ...string[]]
  readonly args: readonly string[]
  readonly atOnce: number
  readonly withinMs: number
  readonly onRan?: (ran: Ran) => void
}

/** Of what it printed; the rest only takes memory. */
const MOST_CHARS = 64_000

export async function runAll(benches: readonly string[], options: RunAll): Promise<readonly Ran[]> {
  const all = new Map<string, Ran>()
  await inParallel(benches, options.atOnce, async (bench) => {
    const ran = await runOne(bench, options)
    all.set(bench, ran)
    options.onRan?.(ran)
  })
  return benches.flatMap((bench) => all.get(bench) ?? [])
}

async function runOne(bench: string, { command: [program, ...before], args, withinMs }: RunAll): Promise<Ran> {
  const from = performance.now()
  // A group of its own: what it started ends with it.
  const child = spawn(program, [...before, bench, ...args], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const endGroup = (): void => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // All of it ended by itself.
    }
  }
  process.once('exit', endGroup)
  let [out, err, isLate] = ['', '', false]
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out = `${out}${text}`.slice(-MOST_CHARS)))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err = `${err}${text}`.slice(-MOST_CHARS)))
  const late = setTimeout(() => {
    isLate = true
    endGroup()
  }, withinMs)
  const ended = await new Promise<string | undefined>((done) => {
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => done(code === 0 ? undefined : `ended with ${code ?? signal}`))
  })
  clearTimeout(late)
  endGroup()
  process.off('exit', endGroup)
  const seconds = (performance.now() - from) / 1_000
  if (isLate) return { bench, seconds, problem: `did not end within ${withinMs / 1_000} s: ${lastOf(err)}` }
  if (ended !== undefined) return { bench, seconds, problem: `${ended}: ${lastOf(err)}` }
  const line = lineIn(lastOf(out))
  return line === undefined ? { bench, seconds, problem: 'printed no figures' } : { bench, seconds, line }
}

function lineIn(text: string): Ran['line'] {
  try {
    const value: unknown = JSON.parse(text)
    const hasFigures = isObject(value) && isObject(value['figures']) && Object.keys(value['figures']).length > 0
    return hasFigures ? value : undefined
  } catch {
    return undefined
  }
}

const lastOf = (text: string): string => text.trimEnd().split('\n').at(-1) ?? ''

const MOST_SHOWN = 200

export function ranTable(all: readonly Ran[]): readonly string[] {
  return aligned([
    ['bench', '', 'seconds', ''],
    ...all.map(({ bench, problem, seconds }) => [
      bench,
      problem === undefined ? 'ok' : 'FAILED',
      seconds.toFixed(1).padStart('seconds'.length),
      (problem ?? '').slice(0, MOST_SHOWN),
    ]),
  ])
}
