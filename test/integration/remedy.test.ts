// A fault on an embedded server over HTTPS, with the shipped rights of the controllers and the real Defender: condition, rule, job, permit, steps, verified.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { hasTaint } from '#nodes/objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'

let bench: RepairBench

/** What an agent does with a job that its Machine lists. */
async function playAgent(name: string): Promise<string> {
  const [listed] =
    (
      await bench.until(
        () => bench.machine(name),
        (m) => (m?.spec.jobs ?? []).length > 0,
      )
    )?.spec.jobs ?? []
  const agent = await bench.agentOf(name)
  const job = await bench.until(
    () => agent.get(remedyOperationJob, { name: listed ?? '' }),
    (j) => j?.status?.phase === 'Running',
  )
  const at = timestamp(systemClock.now())
  const step = {
    index: 1,
    operation: 'restartComponent',
    executor: 'Agent',
    attempts: 1,
    startedAt: at,
    finishedAt: at,
    outcome: 'Succeeded',
  }
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name: listed ?? '', uid: job?.metadata.uid ?? '' },
    status: { steps: [step] },
  }
  await agent.apply(remedyOperationJob, object, { fieldManager: 'kubenode-agent', force: true, subresource: 'status' })
  return listed ?? ''
}

const NODES = ['n-0', 'n-1', 'n-2', 'n-3'] as const

beforeAll(async () => {
  bench = await RepairBench.start()
  for (const name of NODES) {
    await bench.addNode(name)
    await bench.setCondition(name, 'KernelDeadlock', 'False')
  }
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
  const rung = {
    operations: [{ cordon: {} }, { restartComponent: { component: 'beacon' } }],
    timeout: '1m',
    verify: { conditionCleared: 'KernelDeadlock', stableFor: '1s' },
  }
  const when = { all: [conditionIs('KernelDeadlock', 'True')] }
  await bench.rule('deadlock', { when, ladder: [rung], cooldown: '0s' })
})

afterAll(() => bench.close())

test('a fault is repaired under a permit, seen to be gone, and nothing of the repair is left behind', async () => {
  await bench.setCondition('n-0', 'KernelDeadlock', 'True')
  const name = await playAgent('n-0')
  expect(hasTaint(await bench.node('n-0'), 'kubenode.io/cordon')).toBe(true)
  await bench.setCondition('n-0', 'KernelDeadlock', 'False')
  const done = await bench.until(
    () => bench.jobOf('n-0'),
    (j) => j?.status?.phase === 'Done',
  )
  expect(done?.status).toMatchObject({
    outcome: 'Succeeded',
    steps: [
      { executor: 'Controller', outcome: 'Succeeded' },
      { executor: 'Agent', outcome: 'Succeeded' },
    ],
  })
  await bench.until(
    () => bench.machine('n-0'),
    (m) => (m?.spec.jobs ?? []).length === 0,
  )
  await bench.until(
    () => bench.node('n-0'),
    (n) => !hasTaint(n, 'kubenode.io/cordon'),
  )
  const permit = await bench.until(
    () => bench.admin.get(operationPermit, { name }),
    (p) => p?.status?.phase === 'Released',
  )
  expect(Object.values(permit?.spec.results ?? {})).toEqual(['Succeeded'])
})

test('what heals before it starts is left alone', async () => {
  await bench.setCondition('n-1', 'KernelDeadlock', 'True')
  await bench.until(
    () => bench.jobOf('n-1'),
    (j) => j !== undefined,
  )
  await bench.setCondition('n-1', 'KernelDeadlock', 'False')
  const done = await bench.until(
    () => bench.jobOf('n-1'),
    (j) => j?.status?.phase === 'Done',
  )
  expect(done?.status).toMatchObject({ outcome: 'Superseded' })
  expect(done?.status?.startedAt).toBeUndefined()
})

test('when all nodes fail at once none is touched, and the rule says why', async () => {
  await Promise.all(NODES.map((name) => bench.setCondition(name, 'KernelDeadlock', 'True')))
  const inhibited = (r: NodeRemedier | undefined) =>
    r?.status?.conditions?.some((c) => c.type === 'Inhibited' && c.status === 'True') === true
  const rule = await bench.until(() => bench.admin.get(nodeRemedier, { name: 'deadlock' }), inhibited)
  expect(rule?.status?.counts?.matching).toBeGreaterThanOrEqual(3)
  await bench.until(
    () => bench.jobs(),
    (all) => all.every((j) => j.status?.phase === 'Done'),
  )
  expect((await bench.jobs()).filter((j) => j.status?.startedAt !== undefined)).toHaveLength(1)
})

test('nothing of this was refused to the controllers or the Defender', () => expect(bench.forbidden()).toEqual([]))
