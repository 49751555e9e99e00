// Runs one benchmark: `npm run -s bench -- NAME [name=number …] [server=real]` (or `--name number`). A table for people, then one line of JSON, the last of stdout.
//   --list                    names all
//   NAME --smoke, --smoke     one or all in their smallest form, as CI runs them; exits with 1 when one fails
//   --nightly [NAME …] [name=number …]   all, or those named, one after the other; each adds a line to bench/history.jsonl
//   --compare [NAME …] [--strict]   which figures of the newest lines moved; strict: exits with 1 when one of them is worse
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { compileCache, useCompileCache } from '#lib/compile-cache.ts'
import { isKubeNodeError, KubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { benchErrors } from './bench-errors.ts'
import type { Bench, BenchOptions, BenchResult, Figures } from './result.ts'
import { type HistoryLine, aligned, historyLines, isWorse, movedFigures, movedTable } from './runner/history.ts'
import { parseOptions } from './runner/options.ts'
import { type Ran, ranTable, runAll } from './runner/run-all.ts'
import { measureYardstick } from './runner/yardstick.ts'

/** Files beside the benchmarks that are none. */
const OTHER_FILES = ['bench-advice.ts', 'bench-errors.ts', 'main.ts', 'result.ts']
const HISTORY = join(import.meta.dirname, 'history.jsonl')
/** In their smallest form most of them wait for programs that start. */
const SMOKES_AT_ONCE = 3
/** They start a cluster or several. Begun last, one of them would run alone at the end. */
const LONGEST = ['planes', 'rollout', 'predictions', 'hosted', 'whole-way'] as const
/** Seconds on an idle machine; beyond it a benchmark hangs. */
const SMOKE_WITHIN_MS = 240_000
/** The longest takes half an hour. */
const NIGHTLY_WITHIN_MS = 2 * 3_600_000

function benchNames(): readonly string[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !OTHER_FILES.includes(file))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort()
}

// Benchmarks, and the processes that they fork, load what an earlier one compiled.
useCompileCache()
const compiled = compileCache()
if (compiled !== undefined) process.env['NODE_COMPILE_CACHE'] = compiled

async function main(args: readonly string[]): Promise<number> {
  const [first = '', ...rest] = args
  switch (first) {
    case '--list':
      for (const name of benchNames()) console.log(name)
      return 0
    case '--smoke':
      return smokeAll(rest)
    case '--nightly':
      return nightly(rest)
    case '--compare':
      return compare(rest)
    default:
      return runNamed(first, rest)
  }
}

async function runNamed(name: string, args: readonly string[]): Promise<number> {
  refuseUnknown([name])
  const isSmoke = args.includes('--smoke')
  const given = parseOptions(args.filter((a) => a !== '--smoke'))
  const bench = (await import(`./${name}.ts`)) as Bench
  if (!(bench.servers ?? ['embedded']).includes(given.server))
    throw new KubeNodeError(benchErrors.KN9001_server({ name, server: given.server }))
  const options = isSmoke ? { ...given, numbers: { ...bench.smoke, ...given.numbers } } : given
  // A benchmark that waits on the clock alone holds no handle of its own, and the process would end in the middle of it.
  const alive = setInterval(() => undefined, 60_000)
  const result = await bench.run(options).finally(() => clearInterval(alive))
  checkResult(name, result)
  for (const line of tableOf(name, result)) console.log(line)
  console.log(JSON.stringify(lineOf(name, options, result)))
  return 0
}

function refuseUnknown(names: readonly string[]): void {
  const known = benchNames()
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const name = unknown === '' ? 'no benchmark' : JSON.stringify(unknown)
  throw new KubeNodeError(benchErrors.KN9001({ name, names: known.join(', ') }))
}

async function smokeAll(given: readonly string[]): Promise<number> {
  refuseUnknown(given)
  const all = await runAll(given.length > 0 ? given : [...new Set([...LONGEST, ...benchNames()])], {
    command: [process.execPath, import.meta.filename],
    args: ['--smoke'],
    atOnce: SMOKES_AT_ONCE,
    withinMs: SMOKE_WITHIN_MS,
    onRan: ({ bench, seconds }) => console.error(`${bench}: ${seconds.toFixed(1)} s`),
  })
  for (const line of ranTable(all)) console.log(line)
  return all.every(isOk) ? 0 : 1
}

const isOk = ({ problem }: Ran): boolean => problem === undefined

/** One after the other, since they measure; a line is added as soon as its benchmark ended. */
async function nightly(given: readonly string[]): Promise<number> {
  const names = given.filter((arg) => /^[a-z][a-z-]*$/.test(arg))
  const args = given.filter((arg) => !names.includes(arg))
  const { numbers, server } = parseOptions(args)
  refuseUnknown(names)
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  const machine = {
    processor: cpus()[0]?.model ?? '',
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
  }
  const all: Ran[] = []
  for (const name of names.length > 0 ? names : benchNames()) {
    const { isTimeless = false } = (await import(`./${name}.ts`)) as Bench
    const yardstick = measureYardstick()
    const [ran] = await runAll([name], {
      command: [process.execPath, import.meta.filename],
      args,
      atOnce: 1,
      withinMs: NIGHTLY_WITHIN_MS,
    })
    if (ran === undefined) continue
    all.push(ran)
    console.error(`${name}: ${ran.problem ?? 'ok'}, ${ran.seconds.toFixed(0)} s`)
    if (ran.line === undefined) continue
    const { figures, ratio } = ran.line as { readonly figures: Figures; readonly ratio: Figures }
    const at = timestamp(systemClock.now())
    const line: HistoryLine = {
      at,
      commit,
      machine,
      yardstick,
      bench: name,
      server,
      numbers,
      isTimeless,
      figures,
      ratio,
    }
    appendFileSync(HISTORY, `${JSON.stringify(line)}\n`)
  }
  for (const line of ranTable(all)) console.log(line)
  return all.every(isOk) ? 0 : 1
}

function compare(args: readonly string[]): number {
  const names = args.filter((arg) => arg !== '--strict')
  refuseUnknown(names)
  const lines = existsSync(HISTORY) ? historyLines(readFileSync(HISTORY, 'utf8')) : []
  const moved = movedFigures(names.length === 0 ? lines : lines.filter(({ bench }) => names.includes(bench)))
  for (const line of movedTable(moved)) console.log(line)
  return args.includes('--strict') && moved.some(isWorse) ? 1 : 0
}

/** A figure that is no number would read as null in the line of JSON. */
function checkResult(name: string, { figures, peer, ratio }: BenchResult): void {
  for (const [key, value] of [figures, peer?.figures ?? {}, ratio].flatMap((f) => Object.entries(f)))
    if (!Number.isFinite(value)) throw new KubeNodeError(benchErrors.KN9003({ key, name, value }))
}

function lineOf(bench: string, { server }: BenchOptions, { figures, peer, ratio, versions }: BenchResult) {
  return {
    bench,
    ...(server === 'embedded' ? {} : { server }),
    figures,
    peer,
    ratio,
    versions: { node: process.versions.node, kubenode: ownVersion(), ...versions },
  }
}

function ownVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}

function tableOf(name: string, { figures, peer, ratio }: BenchResult): readonly string[] {
  const rows = [...rowsOf(name, figures), ...(peer ? rowsOf(peer.name, peer.figures) : []), ...rowsOf('ratio', ratio)]
  const widest = Math.max(...rows.map(([, , value]) => value.length))
  return aligned(rows.map(([who, what, value]) => [who, what, value.padStart(widest)]))
}

const rowsOf = (who: string, figures: Figures): readonly (readonly [string, string, string])[] =>
  Object.entries(figures).map(([what, value]) => [who, what, value.toLocaleString('en', { maximumFractionDigits: 4 })])

const USAGE: ReadonlySet<string> = new Set([benchErrors.KN9001.code, benchErrors.KN9001_argument.code])

// So that what listens for the end of this process ends what it started.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (e) {
  console.error(
    isKubeNodeError(e)
      ? e.message
      : numbered(benchErrors.KN9003_failed({ why: e instanceof Error ? (e.stack ?? e.message) : messageOf(e) })),
  )
  process.exitCode = isKubeNodeError(e) && USAGE.has(e.code) ? 2 : 1
}
