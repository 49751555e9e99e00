// A pod accepts a repaired node of a real Kubernetes: a real kubelet runs it, under the rights of the roles and the shipped policies.
// Needs root, containerd, and KUBEBUILDER_ASSETS; otherwise it says what is missing.
import { mkdtempSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { conditionIs } from '#api/node-leaves.ts'
import { ACCEPTANCE_NAMESPACE, TAINTS } from '#api/names.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { podTemplateType } from '#nodes/acceptance-pod.ts'
import { hasTaint, podType } from '#nodes/objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { NODE_NAME, startCluster, whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { putImage } from './hub-programs.ts'

const MINUTES_MS = 600_000

const why = whyNoCluster()

describe('a pod that accepts a node of a real Kubernetes', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  const folder = mkdtempSync('/var/tmp/kn-acceptance-')
  let bench: RepairBench | undefined

  const there = (): RepairBench => {
    if (bench === undefined) throw new Error('it has not begun')
    return bench
  }

  beforeAll(async () => {
    if (why !== undefined) return
    const cluster = await startCluster()
    const on = [{ ctr: cluster.node.ctr, scratch: folder }]
    const image = await putImage(folder, { name: 'busybox', programs: ['/bin/busybox'], on })
    bench = await RepairBench.start(cluster)
    const node = await bench.node(NODE_NAME)
    if (node === undefined) throw new Error('the node is gone')
    await bench.addMachine(NODE_NAME, node)
    for (const [name, script] of [
      ['good', 'sleep 2'],
      ['bad', 'echo 2 bad pages > /dev/termination-log; exit 2'],
    ] as const)
      await bench.admin.create(podTemplateType, {
        apiVersion: 'v1',
        kind: 'PodTemplate',
        metadata: { name, namespace: ACCEPTANCE_NAMESPACE },
        template: { spec: { containers: [{ name: 'test', image, args: ['sh', '-c', script] }] } },
      })
    await bench.startDefender()
    await bench.startControllers([remedyModule, remedyJobModule])
    for (const [name, type] of [
      ['good', 'ReadonlyFilesystem'],
      ['bad', 'KernelDeadlock'],
    ] as const)
      await bench.rule(name, {
        when: { all: [conditionIs(type, 'True')] },
        ladder: [{ operations: [{ cordon: {} }], verify: { stableFor: '1s', pod: { template: name } }, retries: 0 }],
      })
  }, MINUTES_MS)
  afterAll(async () => {
    await bench?.close()
    rmSync(folder, { recursive: true, force: true })
  }, MINUTES_MS)

  const isCordoned = async (): Promise<boolean> => hasTaint(await there().node(NODE_NAME), TAINTS.cordon)

  const jobOf = async (rule: string) => (await there().jobs()).find((job) => job.spec.remedierRef.name === rule)

  const done = (rule: string) =>
    there().until(
      () => jobOf(rule),
      (job) => job?.status?.phase === 'Done',
    )

  test(
    'ends the repair when it succeeded, and stays as long as its job',
    async () => {
      await there().setCondition(NODE_NAME, 'ReadonlyFilesystem', 'True')
      await there().until(isCordoned, (is) => is)
      await there().setCondition(NODE_NAME, 'ReadonlyFilesystem', 'False')
      const job = await done('good')
      expect(job?.status).toMatchObject({
        outcome: 'Succeeded',
        steps: [{}, { operation: 'runPod', outcome: 'Succeeded' }],
      })
      await there().until(isCordoned, (is) => !is)
      const { items } = await there().admin.list(podType, { namespace: ACCEPTANCE_NAMESPACE })
      expect(items.map((pod) => [pod.status?.phase, pod.metadata.ownerReferences?.[0]?.name])).toEqual([
        ['Succeeded', job?.metadata.name],
      ])
    },
    MINUTES_MS,
  )

  test(
    'keeps the node cordoned when it failed, and says what it said',
    async () => {
      await there().setCondition(NODE_NAME, 'KernelDeadlock', 'True')
      await there().until(isCordoned, (is) => is)
      await there().setCondition(NODE_NAME, 'KernelDeadlock', 'False')
      const job = await done('bad')
      expect(job?.status?.message).toMatch(/pod bad failed: test: exit code 2 \(Error\): 2 bad pages/)
      expect(await isCordoned()).toBe(true)
    },
    MINUTES_MS,
  )

  test('nothing was forbidden to the programs', () => {
    expect(there().forbidden()).toEqual([])
  })
})
