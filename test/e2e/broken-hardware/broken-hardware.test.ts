// Parts of hosts that fail on a running fleet, from what the kernel counts to a verified repair by the shipped rules: lost memory and a failing disk end in another
// machine, a card and an FPGA in a reboot that mends them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nodeType } from '#nodes/objects.ts'
import { findCondition } from '#kube/conditions.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { until } from '#test/support/tools/processes.ts'
import { stuckPart } from '../../../rules/hardware/stuck-part.ts'
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

/** As the disk's own health log through smartctl, which an agent asks when it starts and then every hour. */
async function failsDisk(node: string): Promise<void> {
  const root = join(fleet.data, 'test/nodes', node, 'root')
  mkdirSync(join(root, 'sys/block/nvme0n1'), { recursive: true })
  mkdirSync(join(root, 'usr/sbin'), { recursive: true })
  const health = { smartctl: { exit_status: 0 }, nvme_smart_health_information_log: { critical_warning: 4 } }
  writeFileSync(join(root, 'usr/sbin/smartctl'), `#!/bin/sh\necho '${JSON.stringify(health)}'\n`, { mode: 0o755 })
  const [pid = ''] = readFileSync(join(fleet.data, 'test/nodes', node, 'agent.pid'), 'utf8').split(' ')
  process.kill(Number(pid), 'SIGTERM')
}

test.each([
  ['lost memory', 'MemoryFaulty', (node: string) => breaks('memory', node)],
  ['a critical warning of an NVMe disk', 'DiskFailing', failsDisk],
])(
  'a node with %s is drained under a permit, and another machine takes its place',
  async (_, condition, provoke) => {
    const before = names()
    const [broken = ''] = before
    await provoke(broken)
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
        return findCondition(node?.status?.conditions, condition)?.status !== 'True' || undefined
      },
      PATIENCE_MS,
    )
  },
  PATIENCE_MS,
)

test(
  'an FPGA whose configuration failed is well after a reboot, which is verified, and the node is open again',
  async () => {
    const [broken = ''] = names()
    // The shipped rule with a shorter look afterwards, before the shipped one.
    const { ladder, ...rest } = stuckPart('FPGAFaulty')
    const [first] = ladder
    if (first === undefined) throw new Error('a ladder without rungs')
    const verify = { conditionCleared: 'FPGAFaulty', stableFor: '5s' }
    const spec = { ...rest, for: '0s', priority: 99, ladder: [{ ...first, verify }] }
    const rule = { apiVersion: API_GROUP_VERSION, kind: 'NodeRemedier', metadata: { name: 'fpga-quick' }, spec }
    await cluster.client.create(nodeRemedier, rule as never)
    const state = join(fleet.data, 'test/nodes', broken, 'root/sys/class/fpga_manager/fpga0/state')
    mkdirSync(dirname(state), { recursive: true })
    writeFileSync(state, 'write error\n')
    const job = await done(broken, PATIENCE_MS)
    expect([job.spec.remedierRef.name, job.status?.outcome]).toEqual(['fpga-quick', 'Succeeded'])
    expect(steps(job)).toEqual(['collectEvidence Succeeded', 'cordon Succeeded', 'drain Skipped', 'reboot Succeeded'])
    expect(existsSync(state)).toBe(false)
    await isOpen(broken, 'FPGAFaulty')
  },
  PATIENCE_MS,
)

test(
  'a card with a fatal error is gone after a reboot under a permit, and the node is watched before it is done',
  async (context) => {
    onlyInFull(context)
    // The first one has a repair already.
    const [, broken = ''] = names()
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
