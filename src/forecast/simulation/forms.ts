// Prints simulations as text for a terminal, or as a test report. Pure.
import { counted } from '#lib/counted.ts'
import { formatAge, formatDuration } from '#lib/duration.ts'
import { printableLine, shownLines } from '#lib/printable.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { xmlText } from '../backtest/forms.ts'
import type { SimulationResult, Unmet } from './simulate.ts'

export interface SimulationsShown {
  readonly cluster: string
  /** What rolls out. */
  readonly commit: string
  /** What was assumed of the cluster because no inventory says it. */
  readonly assumed?: string
  readonly results: readonly SimulationResult[]
  /** Components without recorded durations. */
  readonly untimed: readonly string[]
}

/** Of a counter-example: enough to see what led to it. */
const MOST_LINES = 40

const LIMITS = [
  'Pods are not scheduled and the network is not modeled: a drain takes what switches took before, and a repair what is typical of its operations.',
  'A machine counts as out while its component switches or its repair runs.',
]

export function terminalText(
  { cluster, commit, assumed, results, untimed }: SimulationsShown,
  width: number | undefined,
): string {
  const durations =
    untimed.length === 0
      ? []
      : [`A switch of ${untimed.join(', ')} is assumed to take five minutes: none was recorded.`]
  const head = shownLines([`${commit} on ${cluster}`, ...(assumed === undefined ? [] : [`  ${assumed}`])]).trimEnd()
  return `${[head, ...results.map((r) => resultText(r, width)), shownLines([...LIMITS, ...durations]).trimEnd()].join('\n\n')}\n`
}

const percent = (share: number): string => `${Math.round(share * 1_000) / 10}%`
const isShare = (name: string): boolean => /^(own|all)\.(share|zone|rack|pool)$/.test(name)
const valueText = (name: string, value: number): string => (isShare(name) ? percent(value) : String(value))

function resultText(result: SimulationResult, width: number | undefined): string {
  const { name, description, machines, seeds, complete, rollsOut, figures, waits, stuck, unmet } = result
  const rows = Object.entries(figures)
    .filter(([, { most }]) => most > 0)
    .map(([figure, { p50, p95, most }]) => [figure, ...[p50, p95, most].map((v) => valueText(figure, v))])
  const table = alignedRows([['FIGURE', 'P50', 'P95', 'MOST'], ...rows], width, { isWhole: true }).trimEnd()
  const waited =
    waits.length === 0
      ? []
      : [
          `Waited for\n${alignedRows([['WHAT', 'P50', 'P95'], ...waits.map(({ what, ms }) => [printableLine(what), formatDuration(ms.p50), formatDuration(ms.p95)])], width).trimEnd()}`,
        ]
  return [
    shownLines([
      `${name}: ${description}`,
      `  ${counted(machines, 'machine')}, ${counted(seeds, 'seed')}; ${rollsOut ? `complete in ${complete} of ${seeds}` : 'nothing rolls out'}`,
      ...verdictLines(result).map((v) => `  ${v}`),
    ]).trimEnd(),
    table,
    ...waited,
    ...(stuck.length === 0 ? [] : [shownLines(['Not finished', ...stuck.map((s) => `  ${s}`)]).trimEnd()]),
    ...unmet.map((u) => shownLines(unmetLines(u)).trimEnd()),
  ].join('\n\n')
}

/** What can never happen comes first: what holds without it proves nothing. */
function verdictLines({ unmet, expected, untested, notes }: SimulationResult): readonly string[] {
  const isGood = unmet.length === 0 && untested.length === 0
  const held = `${expected.length - unmet.length} of ${expected.length} expectations hold`
  return [
    ...untested.map((what) => `✖ ${what}`),
    ...(expected.length === 0
      ? []
      : [untested.length > 0 ? `✖ ${held}, which proves nothing` : `${isGood ? '✔' : '✖'} ${held}`]),
    ...notes.map((note) => `⚠ ${note}`),
  ]
}

const unmetLines = (unmet: Unmet): readonly string[] => [
  `✖ ${unmet.expectation}`,
  `  ${seenText(unmet)}`,
  ...timelineLines(unmet),
]

const seenText = ({ failed, seed, seen }: Unmet): string =>
  `not true for ${counted(failed, 'seed')}; with seed ${seed}: ${seen.map(([name, value]) => `${name} is ${valueText(name, value)}`).join(', ')}`

function timelineLines({ run }: Unmet): readonly string[] {
  const lines = run.timeline.slice(0, MOST_LINES)
  const more = run.timeline.length - lines.length + run.moreTimeline
  return [
    ...lines.map(({ at, what }) => `  ${formatAge(at).padStart(8)}  ${what}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

interface TestCase {
  readonly name: string
  readonly failure?: { readonly message: string; readonly lines: readonly string[] } | undefined
  readonly skipped?: string
}

/** A test for each expectation, as CI systems show them, and one for each part of a scenario that cannot happen. */
export function junitOf({ assumed, results }: SimulationsShown): string {
  const properties =
    assumed === undefined ? [] : [`    <properties><property name="cluster" value="${xmlText(assumed)}"/></properties>`]
  const suites = results.map((result) => {
    const { name } = result
    const cases = casesOf(result)
    const failures = cases.filter((c) => c.failure !== undefined).length
    const skipped = cases.filter((c) => c.skipped !== undefined).length
    return [
      `  <testsuite name="${xmlText(name)}" tests="${cases.length}" failures="${failures}" skipped="${skipped}">`,
      ...properties,
      ...cases.map((one) => caseText(one, name)),
      '  </testsuite>',
    ].join('\n')
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>\n`
}

/** A suite without a test would pass unseen. */
function casesOf({ unmet, expected, untested }: SimulationResult): readonly TestCase[] {
  const impossible = untested.map((what): TestCase => {
    const failure = { message: what, lines: ['What the scenario expects holds without it, so that it proves nothing.'] }
    return expected.length === 0 ? { name: what, skipped: what } : { name: what, failure }
  })
  const judged = expected.map((text): TestCase => {
    const found = unmet.find((u) => u.expectation === text)
    return { name: text, failure: found && { message: seenText(found), lines: timelineLines(found) } }
  })
  const cases = [...impossible, ...judged]
  return cases.length > 0
    ? cases
    : [{ name: 'expect', skipped: 'the scenario expects nothing: it ran, and nothing was judged' }]
}

function caseText({ name, failure, skipped }: TestCase, scenario: string): string {
  const body =
    failure === undefined
      ? skipped === undefined
        ? ''
        : `<skipped message="${xmlText(skipped)}"/>`
      : `<failure message="${xmlText(failure.message)}">${xmlText(failure.lines.join('\n'))}</failure>`
  return `    <testcase classname="kubenode simulate ${xmlText(scenario)}" name="${xmlText(name)}">${body}</testcase>`
}
