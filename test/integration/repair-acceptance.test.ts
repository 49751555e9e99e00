// A signed script accepts a repaired node: over HTTPS, with the rights of the roles. The cordon stays until the script passed, whatever the fault does meanwhile.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { TAINTS } from '#api/names.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { hasTaint } from '#nodes/objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'

let bench: RepairBench

const script = { component: 'memtest', version: '1.0.0', args: ['--quick'] }
const rung = { operations: [{ cordon: {} }], verify: { stableFor: '1s', script }, retries: 0 }

beforeAll(async () => {
  bench = await RepairBench.start()
  for (const name of ['n-0', 'n-1', 'n-2', 'n-3', 'n-4', 'n-5']) await bench.addNode(name)
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
  await bench.rule('read-only', { when: { all: [conditionIs('ReadonlyFilesystem', 'True')] }, ladder: [rung] })
})
afterAll(() => bench.close())

const isCordoned = async (name: string): Promise<boolean> => hasTaint(await bench.node(name), TAINTS.cordon)

/** As the agent reports its step. */
async function report(node: string, outcome: string, output: string): Promise<void> {
  const job = await bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.steps?.some((s) => s.operation === 'cordon' && s.outcome === 'Succeeded') === true,
  )
  const step = { index: 1, operation: 'runScript', executor: 'Agent', attempts: 1, outcome, output }
  const { name = '', uid = '' } = job?.metadata ?? {}
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name, uid },
    status: { steps: [step] },
  }
  const options = { fieldManager: 'kubenode-agent', force: true, subresource: 'status' } as const
  await (await bench.agentOf(node)).apply(remedyOperationJob, object, options)
}

const done = (node: string) =>
  bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.phase === 'Done',
  )

test('a node whose script passed takes pods again, once the fault was absent long enough', async () => {
  await bench.setCondition('n-0', 'ReadonlyFilesystem', 'True')
  await report('n-0', 'Succeeded', 'all pages good')
  expect(await isCordoned('n-0')).toBe(true)
  await bench.setCondition('n-0', 'ReadonlyFilesystem', 'False')
  const job = await done('n-0')
  expect(job?.spec).toMatchObject({ acceptance: 1, operations: [{ cordon: {} }, { runScript: script }] })
  expect(job?.status?.outcome).toBe('Succeeded')
  await bench.until(
    () => isCordoned('n-0'),
    (is) => !is,
  )
})

test('a node whose script failed stays cordoned, although its fault is gone, until a person deletes the record', async () => {
  await bench.setCondition('n-1', 'ReadonlyFilesystem', 'True')
  await report('n-1', 'Failed', 'testing\n2 bad pages')
  const job = await done('n-1')
  expect(job?.status).toMatchObject({
    outcome: 'Transient',
    message: 'the node was not accepted and stays cordoned: script memtest 1.0.0 failed: 2 bad pages',
  })
  await bench.setCondition('n-1', 'ReadonlyFilesystem', 'False')
  // Longer than the fault must be absent: the node of another rule's job would be open by now.
  await bench.setCondition('n-2', 'ReadonlyFilesystem', 'True')
  await report('n-2', 'Succeeded', '')
  await bench.setCondition('n-2', 'ReadonlyFilesystem', 'False')
  await done('n-2')
  await bench.until(
    () => isCordoned('n-2'),
    (is) => !is,
  )
  expect(await isCordoned('n-1')).toBe(true)
  await bench.admin.delete(remedyOperationJob, { name: job?.metadata.name ?? '' })
  await bench.until(
    () => isCordoned('n-1'),
    (is) => !is,
  )
})

test('a rung that replaces the machine has no node to accept: nothing of it is done', async () => {
  const replacing = { ...rung, operations: [{ cordon: {} }, { replace: {} }] }
  await bench.setCondition('n-3', 'KernelDeadlock', 'True')
  await bench.rule('wrong', { when: { all: [conditionIs('KernelDeadlock', 'True')] }, ladder: [replacing] })
  expect((await done('n-3'))?.status).toMatchObject({ outcome: 'Permanent' })
  expect(await isCordoned('n-3')).toBe(false)
})

test('nothing of this was refused to the controllers or the Defender', () => expect(bench.forbidden()).toEqual([]))
