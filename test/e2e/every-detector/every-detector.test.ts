// Each fault that a rule of a new fleet repairs, plugged into a played host below a real agent: from what the kernel or a program of a vendor says to a repair that is
// verified. Rows with different conditions are played side by side, on a few nodes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { findCondition } from '#kube/conditions.ts'
import { emptyDisk } from '#programs/local/break/disk-and-clock.ts'
import { until } from '#test/support/tools/processes.ts'
import { DetectorFleet, PATIENCE_MS } from './fleet.ts'
import { type Played, PLAYED, RULES } from './rows.ts'

/** All rows, one after the other if need be. */
const ALL_MS = 1_200_000
const fleet = new DetectorFleet()
const played = new Map<Played, Promise<void>>()

beforeAll(async () => {
  await fleet.start()
  // Of one condition, one after the other: a rule does not act where several nodes have it.
  for (const rows of Map.groupBy(PLAYED, (row) => row.condition).values()) {
    let turn: Promise<unknown> = Promise.resolve()
    for (const row of rows) {
      const own = turn.then(() => fleet.withNode(row.condition, (name) => play(row, name)))
      played.set(row, own)
      turn = own.catch(() => undefined)
    }
  }
  for (const own of played.values()) own.catch(() => undefined)
}, PATIENCE_MS)
afterAll(() => fleet.close(), PATIENCE_MS)

/** Evidence is collected first, also where the rule does not say so. */
const isRepair = (operation: string): boolean => operation !== 'collectEvidence'
const steps = ({ status }: RemedyOperationJob) =>
  status?.steps?.filter((s) => isRepair(s.operation)).map((s) => `${s.operation} ${s.outcome}`)

const nameOf = (operation: object): string => Object.keys(operation)[0] ?? ''

/** There are no pods to move. */
const OUTCOMES: Readonly<Record<string, string>> = { drain: 'Skipped' }

async function play(row: Played, name: string): Promise<void> {
  const job = await fleet.repair(row, name)
  const rungs = RULES[row.rule].ladder.map(({ operations }) =>
    operations.map(nameOf).flatMap((o) => (isRepair(o) ? [`${o} ${OUTCOMES[o] ?? 'Succeeded'}`] : [])),
  )
  expect(rungs).toContainEqual(steps(job))
  const last = nameOf(job.spec.operations.at(-1) ?? {})
  expect(last).toBe(LAST[row.mends])
  const { bench } = fleet
  if (row.mends === 'Replace')
    return void (await until(
      `${name} is gone`,
      async () => (await bench?.machine(name)) === undefined || undefined,
      PATIENCE_MS,
    ))
  const node = await until(
    `${name} is well and open`,
    async () => {
      const now = await bench?.node(name)
      const isWell = findCondition(now?.status?.conditions, row.condition)?.status === 'False'
      return isWell && (now?.spec?.taints ?? []).length === 0 ? now : undefined
    },
    PATIENCE_MS,
  )
  expect(node?.spec?.unschedulable ?? false).toBe(false)
  if (row.mends === 'Vendor') expect(fleet.reports.some((r) => r.startsWith(name))).toBe(true)
  if (row.mends === 'Cleaning') emptyDisk(fleet.host(name).node)
}

const LAST = {
  Reboot: 'reboot',
  Restart: 'restartComponent',
  Replace: 'replace',
  Cleaning: 'cleanDisk',
  Moving: 'drain',
  Vendor: 'reportFault',
} as const

test.each(PLAYED.map((row) => [row.condition, row.detector, row.mends, row] as const))(
  '%s, found by %s, ends by %s',
  async (_, __, ___, row) => {
    await played.get(row)
  },
  ALL_MS,
)

test('nothing of this was refused to the controllers or the Defender', () =>
  expect(fleet.bench?.forbidden()).toEqual([]))
