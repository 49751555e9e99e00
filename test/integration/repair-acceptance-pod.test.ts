// A pod accepts a repaired node: over HTTPS, with the rights of the roles and under the shipped policies. The cordon stays until the pod succeeded.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { conditionIs } from '#api/node-leaves.ts'
import { ACCEPTANCE_NAMESPACE, ANNOTATIONS, TAINTS } from '#api/names.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { podTemplateType } from '#nodes/acceptance-pod.ts'
import { type Pod, hasTaint, podType } from '#nodes/objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'

let bench: RepairBench

const pod = { template: 'burn-in' }
const rung = { operations: [{ cordon: {} }], verify: { stableFor: '1s', pod }, retries: 0 }

beforeAll(async () => {
  bench = await RepairBench.start()
  for (const name of ['n-0', 'n-1', 'n-2', 'n-3', 'n-4', 'n-5']) await bench.addNode(name)
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default', namespace: ACCEPTANCE_NAMESPACE },
  }
  await bench.admin.create(coreKind('ServiceAccount'), account)
  await bench.admin.create(podTemplateType, {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: pod.template, namespace: ACCEPTANCE_NAMESPACE },
    template: { metadata: { labels: { app: 'burn-in' } }, spec: { containers: [{ name: 'test', image: 'burn-in' }] } },
  })
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
  await bench.rule('read-only', { when: { all: [conditionIs('ReadonlyFilesystem', 'True')] }, ladder: [rung] })
})
afterAll(() => bench.close())

const isCordoned = async (name: string): Promise<boolean> => hasTaint(await bench.node(name), TAINTS.cordon)

const podOn = (node: string): Promise<Pod | undefined> =>
  bench.until(
    async () =>
      (await bench.admin.list(podType, { namespace: ACCEPTANCE_NAMESPACE })).items.find(
        (p) => p.spec?.nodeName === node,
      ),
    (p) => p !== undefined,
  )

/** As the kubelet reports it. */
async function exit(node: string, exitCode: number, message: string): Promise<void> {
  const pod = await podOn(node)
  const terminated = {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    message,
    containerID: 'containerd://a',
  }
  const value = {
    status: {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [
        { name: 'test', image: 'burn-in', imageID: 'a', ready: false, restartCount: 0, state: { terminated } },
      ],
    },
  }
  const key = { namespace: ACCEPTANCE_NAMESPACE, name: pod?.metadata.name ?? '' }
  await bench.admin.patch(podType, key, { type: 'merge', value }, { subresource: 'status' })
}

const done = (node: string) =>
  bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.phase === 'Done',
  )

test('a node whose pod succeeded takes pods again, once the fault was absent long enough', async () => {
  await bench.setCondition('n-0', 'ReadonlyFilesystem', 'True')
  const created = await podOn('n-0')
  expect(created?.metadata.annotations?.[ANNOTATIONS.acceptanceNode]).toBe((await bench.node('n-0'))?.metadata.uid)
  expect(await isCordoned('n-0')).toBe(true)
  await exit('n-0', 0, 'all pages good')
  await bench.setCondition('n-0', 'ReadonlyFilesystem', 'False')
  const job = await done('n-0')
  expect(job?.spec).toMatchObject({ acceptance: 1, operations: [{ cordon: {} }, { runPod: pod }] })
  expect(job?.status).toMatchObject({
    outcome: 'Succeeded',
    steps: [{}, { operation: 'runPod', outcome: 'Succeeded', pod: { uid: created?.metadata.uid } }],
  })
  await bench.until(
    () => isCordoned('n-0'),
    (is) => !is,
  )
})

test('a node whose pod failed stays cordoned, although its fault is gone', async () => {
  await bench.setCondition('n-1', 'ReadonlyFilesystem', 'True')
  await exit('n-1', 2, '2 bad pages')
  await bench.setCondition('n-1', 'ReadonlyFilesystem', 'False')
  const job = await done('n-1')
  expect(job?.status).toMatchObject({
    outcome: 'Transient',
    message: 'the node was not accepted and stays cordoned: pod burn-in failed: test: exit code 2 (Error): 2 bad pages',
  })
  expect(await isCordoned('n-1')).toBe(true)
})

test('the programs were forbidden nothing', () => {
  expect(bench.forbidden()).toEqual([])
})
