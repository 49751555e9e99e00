// Parts of hosts that fail on a running fleet, as `kubenode local break` plays them, to a verified repair by the shipped rules with their own times: lost memory ends in
// another machine, a card in a reboot that mends it. All other faults: test/e2e/every-detector.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nodeType } from '#nodes/objects.ts'
import { findCondition } from '#kube/conditions.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'
import { type Observer, observe } from '../whole-way/watching.ts'

const NODES = 3
/** The rule for cards watches for ten minutes after the reboot. */
const WATCHED_MS = 900_000
let fleet: TestFleet
let cluster: Observer

beforeAll(async () => {
  fleet = new TestFleet()
  fleet.start('--nodes', String(NODES))
  await fleet.settled()
  cluster = observe(fleet.kubeconfig('test'))
  await until('all machines', () => cluster.machines().length === NODES || undefined, PATIENCE_MS)
}, PATIENCE_MS)
afterAll(async () => {
  await (cluster as Observer | undefined)?.stop()
  await (fleet as TestFleet | undefined)?.dispose()
}, PATIENCE_MS)

async function breaks(fault: string, node: string): Promise<void> {
  const { code, out } = await fleet.run(`bin/kubenode local break ${fault} ${node}`)
  expect([code, code === 0 ? '' : out]).toEqual([0, ''])
}

const names = () => cluster.machines().map((m) => m.metadata.name ?? '')
const jobOf = async (node: string): Promise<RemedyOperationJob | undefined> =>
  (await cluster.client.list(remedyOperationJob)).items.find((j) => j.spec.machine === node)
const done = (node: string, withinMs: number) =>
  until(
    `the repair of ${node} is over`,
    async () => {
      const job = await jobOf(node)
      return job?.status?.phase === 'Done' ? job : undefined
    },
    withinMs,
  )
async function isOpen(name: string, condition: string): Promise<void> {
  const node = await until(
    'the node is open again',
    async () => {
      const now = await cluster.client.get(nodeType, { name })
      return (now?.spec?.taints ?? []).length === 0 ? now : undefined
    },
    PATIENCE_MS,
  )
  expect(findCondition(node.status?.conditions, condition)?.status).toBe('False')
}
const steps = ({ status }: RemedyOperationJob) => status?.steps?.map((s) => `${s.operation} ${s.outcome}`)

test(
  'a node with lost memory is drained under a permit, and another machine takes its place',
  async () => {
    const before = names()
    const [broken = ''] = before
    await breaks('memory', broken)
    const job = await done(broken, PATIENCE_MS)
    expect(job.status?.outcome).toBe('Succeeded')
    expect(steps(job)).toEqual([
      'collectEvidence Succeeded',
      // The provider of this fleet takes no reports.
      'reportFault Skipped',
      'cordon Succeeded',
      'drain Skipped',
      'replace Succeeded',
    ])
    const permit = await cluster.client.get(operationPermit, { name: job.metadata.name ?? '' })
    expect(permit?.spec.targets.map((t) => t.name)).toEqual([broken])
    await until(
      'another machine is Ready',
      () => {
        const ready = cluster.machines().filter((m) => m.status?.phase === 'Ready')
        return (ready.length === NODES && !names().includes(broken)) || undefined
      },
      PATIENCE_MS,
    )
    const fresh = names().find((name) => !before.includes(name)) ?? ''
    // Parts of its own: the fault did not move with the work.
    await until(
      `${fresh} is without the fault`,
      async () => {
        const node = await cluster.client.get(nodeType, { name: fresh })
        return findCondition(node?.status?.conditions, 'MemoryFaulty')?.status !== 'True' || undefined
      },
      PATIENCE_MS,
    )
  },
  PATIENCE_MS,
)

test(
  'a card with a fatal error is gone after a reboot under a permit, and the node is watched before it is done',
  async (context) => {
    onlyInFull(context)
    const [broken = ''] = names()
    const bootId = () => readFileSync(join(fleet.data, 'test/nodes', broken, 'boot-id'), 'utf8')
    const before = bootId()
    await breaks('card', broken)
    const job = await done(broken, WATCHED_MS)
    expect([job.status?.outcome, bootId() === before]).toEqual(['Succeeded', false])
    expect(steps(job)).toEqual(['collectEvidence Succeeded', 'cordon Succeeded', 'drain Skipped', 'reboot Succeeded'])
    await isOpen(broken, 'PCIeFaulty')
  },
  WATCHED_MS,
)
