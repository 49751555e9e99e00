// Runs one benchmark: `npm run -s bench -- NAME [name=number …] [server=real]` (or `--name number`). A table for people, then one line of JSON, the last of stdout. `--list` names all.
import { readdirSync, readFileSync } from 'node:fs'
import { isKubeNodeError, KubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import type { Bench, BenchOptions, BenchResult, Figures, ServerKind } from './result.ts'
import { benchErrors } from './bench-errors.ts'

/** Files beside the benchmarks that are none. */
const OTHER_FILES = ['bench-errors.ts', 'main.ts', 'result.ts']

function benchNames(): readonly string[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !OTHER_FILES.includes(file))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort()
}

async function main(args: readonly string[]): Promise<number> {
  const names = benchNames()
  if (args.includes('--list')) {
    for (const name of names) console.log(name)
    return 0
  }
  const [name = '', ...rest] = args
  if (!names.includes(name)) {
    console.error(
      numbered(
        benchErrors.KN9001({ name: name === '' ? 'no benchmark' : JSON.stringify(name), names: names.join(', ') }),
      ),
    )
    return 2
  }
  const options = parseOptions(rest)
  const bench = (await import(`./${name}.ts`)) as Bench
  if (!(bench.servers ?? ['embedded']).includes(options.server))
    throw new KubeNodeError(benchErrors.KN9005({ name, server: options.server }))
  const result = await bench.run(options)
  checkResult(name, result)
  for (const line of tableOf(name, result)) console.log(line)
  console.log(JSON.stringify(lineOf(name, options, result)))
  return 0
}

function parseOptions(args: readonly string[]): BenchOptions {
  const numbers: Record<string, number> = {}
  let server: ServerKind = 'embedded'
  for (const arg of joined(args)) {
    const [key = '', text = ''] = arg.split('=', 2)
    if (key === 'server' && (text === 'embedded' || text === 'real')) {
      server = text
      continue
    }
    const value = Number(text)
    if (!/^[a-z][a-z0-9_]*$/.test(key) || text === '' || !Number.isFinite(value))
      throw new KubeNodeError(benchErrors.KN9002({ arg: JSON.stringify(arg) }))
    numbers[key] = value
  }
  return { numbers, server }
}

/** `--nodes 100` and `--nodes=100` are `nodes=100`. */
function joined(args: readonly string[]): readonly string[] {
  const out: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    const bare = arg.replace(/^--/, '')
    out.push(bare === arg || bare.includes('=') ? bare : `${bare}=${args[++i] ?? ''}`)
  }
  return out
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
  const width = (column: 0 | 1 | 2) => Math.max(...rows.map((row) => row[column].length))
  const [a, b, c] = [width(0), width(1), width(2)]
  return rows.map(([who, what, value]) => `${who.padEnd(a)}  ${what.padEnd(b)}  ${value.padStart(c)}`)
}

const rowsOf = (who: string, figures: Figures): readonly (readonly [string, string, string])[] =>
  Object.entries(figures).map(([what, value]) => [who, what, value.toLocaleString('en', { maximumFractionDigits: 4 })])

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (e) {
  console.error(
    isKubeNodeError(e)
      ? e.message
      : numbered(benchErrors.KN9004({ why: e instanceof Error ? (e.stack ?? e.message) : messageOf(e) })),
  )
  process.exitCode = isKubeNodeError(e) && e.code === benchErrors.KN9002.code ? 2 : 1
}
