// A process of its own: replays a month and prints its figures as JSON. A tenth of the rules have another hold-down on the second side.
import { Backtest } from '#forecast/backtest/backtest.ts'
import { lineText, parsedLine } from '#history/lines/line.ts'
import { MIB } from '#lib/bytes.ts'
import { systemClock } from '#lib/system-clock.ts'
import { rounded } from '../result.ts'
import { BEGINS, MONTH_MS, month, rulesOf } from './month.ts'

const SAMPLE = 50_000
const PIECE = 2_000

type Line = Parameters<Backtest['take']>[0]

const [nodes = 0, transitions = 0, rules = 0] = process.argv.slice(2).map(Number)

/** Made and read in pieces, between what is measured: each line is what a reader of its text gives, which costs more than taking one that no rule reads. */
function* pieces(): Generator<readonly Line[]> {
  let piece: Line[] = []
  for (const line of month(nodes, transitions, rules)) {
    piece.push(parsedLine(lineText(line)) as Line)
    if (piece.length < PIECE) continue
    yield piece
    piece = []
  }
  yield piece
}

function readUsPerRow(): number {
  const texts: string[] = []
  for (const line of month(nodes, transitions, rules)) {
    texts.push(lineText(line))
    if (texts.length >= SAMPLE) break
  }
  const at = systemClock.monotonic()
  for (const text of texts) parsedLine(text)
  return ((systemClock.monotonic() - at) * 1_000) / texts.length
}

const readUs = readUsPerRow()
const backtest = new Backtest({
  cluster: 'bench',
  base: { rules: rulesOf(rules, '1m'), policies: [] },
  change: { rules: rulesOf(rules, '10m'), policies: [] },
  seeds: 0,
})
const heapMib = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / MIB
}
let [cpuUs, rows, early, rss] = [0, 0, 0, 0]
for (const piece of pieces()) {
  const before = process.cpuUsage()
  for (const line of piece) {
    const taken = backtest.take(line)
    if (taken !== undefined) await taken
  }
  const { user, system } = process.cpuUsage(before)
  cpuUs += user + system
  // The lines of the fleet itself count in no row.
  rows += piece.filter((line) => line.line === 'row' && line.observed > BEGINS).length
  rss = Math.max(rss, process.memoryUsage.rss() / MIB)
  if (early === 0 && rows >= transitions / 10) early = heapMib()
}
const before = process.cpuUsage()
const result = await backtest.end(BEGINS + MONTH_MS)
const { user, system } = process.cpuUsage(before)
const cpuMs = (cpuUs + user + system) / 1_000
const heap = heapMib()
const figures = {
  replay_cpu_s: rounded(cpuMs / 1_000),
  us_per_row: rounded((cpuMs * 1_000) / rows),
  heap_early_mib: rounded(early),
  heap_mib: rounded(heap),
  rss_mib: rounded(rss),
  read_us_per_row: rounded(readUs),
  repairs_base: result.base.total.jobs,
  repairs_change: result.change.total.jobs,
}
console.log(JSON.stringify(figures))
