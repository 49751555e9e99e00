// How often blame finds the change that breaks machines, and how often it sees one where there is none, over many fleets with failures of their own.
import { expect, test } from 'vitest'
import { fleetView } from '#defender/fleet.ts'
import { suspicions } from '#defender/blame/suspicion.ts'
import { seededRandom } from '#lib/random.ts'
import { aMachine } from '#test/support/fleets/defender-objects.ts'
import { inFull } from '#test/support/tools/full.ts'

const FLEETS = inFull(1_000, 250)
const COMPONENTS = ['kubelet', 'containerd', 'cni', 'exporter', 'agent']
const BAD = 'kubelet'

interface Fleet {
  readonly machines: number
  /** Machines that have the new version of each component. */
  readonly rolledOut: number
  /** Of a thousand machines fail anyway, of a hundred of the new version. */
  readonly base: number
  readonly broken: number
}

/** The cohorts that are blamed. */
function blamed(seed: number, { machines, rolledOut, base, broken }: Fleet): readonly string[] {
  const random = seededRandom(seed)
  const racks = 4 + random.below(20)
  const pick = () => random.below(machines)
  const updated = new Map(COMPONENTS.map((c) => [c, new Set(Array.from({ length: rolledOut }, pick))]))
  const failing = new Set<string>()
  const { cohorts, units } = fleetView({
    machines: Array.from({ length: machines }, (_, i) => {
      const isNew = (c: string) => updated.get(c)?.has(i) === true
      if (random.below(1_000) < base || (isNew(BAD) && random.below(100) < broken)) failing.add(`m-${i}`)
      return aMachine({
        name: `m-${i}`,
        rack: `r${random.below(racks)}`,
        zone: `z${i % 3}`,
        kernel: `6.1.${random.below(3)}`,
        runs: Object.fromEntries(COMPONENTS.map((c) => [c, isNew(c) ? '2.0.0' : '1.0.0'])),
      })
    }),
    nodes: [],
    clusters: [],
  })
  const found = suspicions(
    cohorts,
    units.filter((u) => failing.has(u.name)),
  )
  return found.map(({ cohort }) => `${cohort.component ?? cohort.kind} ${cohort.value}`)
}

const percent = (n: number): string => `${((100 * n) / FLEETS).toFixed(1)} %`

test('failures of a new version are blamed on it, and failures by chance on nothing', () => {
  let found = 0
  let wrong = 0
  let invented = 0
  for (let seed = 0; seed < FLEETS; seed++) {
    const random = seededRandom(seed + 1_000_000)
    const fleet = { machines: 100 + random.below(300), rolledOut: 16 + random.below(40), base: 2 + random.below(8) }
    const broken = blamed(seed, { ...fleet, broken: 30 + random.below(50) })
    if (broken.includes(`${BAD} 2.0.0`)) found++
    if (broken.some((b) => b !== `${BAD} 2.0.0`)) wrong++
    if (blamed(seed, { ...fleet, broken: 0 }).length > 0) invented++
  }
  process.stdout.write(
    `blame over ${FLEETS} fleets: ${percent(found)} of the broken versions found, something else blamed beside them in ${percent(wrong)}, ` +
      `something blamed without a cause in ${percent(invented)}\n`,
  )
  expect(found).toBeGreaterThan(0.95 * FLEETS)
  expect(wrong).toBeLessThan(0.01 * FLEETS)
  expect(invented).toBeLessThan(0.005 * FLEETS)
})
