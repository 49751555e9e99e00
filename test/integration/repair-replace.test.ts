// A repair that takes another machine, from the fault to the new one: every controller that has a part in it, with the rights of its role, over HTTPS.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type MemoryHost, MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'

const REPLICAS = 5
const POOL = { 'kubenode.io/pool': 'workers' }

let bench: RepairBench
const hosts = new Map<string, MemoryHost>()

const machines = async () => (await bench.admin.list(machine)).items
const readyNames = async (): Promise<readonly string[]> =>
  (await machines()).flatMap((m) => (m.status?.phase === 'Ready' ? (m.metadata.name ?? []) : []))

beforeAll(async () => {
  bench = await RepairBench.start()
  const provider = new MemoryProvider({ clock: systemClock, hosts })
  bench.playHosts(provider)
  await bench.startDefender()
  await bench.startControllers([machineModule, machineSetModule, remedyModule, remedyJobModule], {
    providers: { memory: provider },
  })
  await bench.create(machineSet, 'workers', {
    replicas: REPLICAS,
    selector: { matchLabels: POOL },
    template: { metadata: { labels: POOL }, spec: { provider: { name: 'memory' }, pool: 'workers' } },
  })
  await bench.until(readyNames, (names) => names.length === REPLICAS)
})

afterAll(() => bench.close())

/** Hollow agents run components and nothing else. */
async function keepEvidence(name: string): Promise<void> {
  const job = await bench.until(
    () => bench.jobOf(name),
    (j) => j?.status?.phase === 'Running',
  )
  const step = { index: 0, operation: 'collectEvidence', executor: 'Agent', attempts: 1, outcome: 'Succeeded' }
  const { uid = '' } = job?.metadata ?? {}
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name: job?.metadata.name ?? '', uid },
    status: { steps: [step] },
  }
  const options = { fieldManager: 'kubenode-agent', force: true, subresource: 'status' } as const
  const agent = await bench.agentOf(name)
  await agent.apply(remedyOperationJob, object, options)
}

test('a machine that is beyond repair is taken away under one permit, its host too, and its set makes another', async () => {
  const [broken = ''] = (await readyNames()).toSorted()
  const before = new Set(await readyNames())
  await bench.setCondition(broken, 'ReadonlyFilesystem', 'True')
  await bench.rule('read-only', {
    when: { all: [conditionIs('ReadonlyFilesystem', 'True')] },
    ladder: [{ operations: [{ cordon: {} }, { replace: {} }], verify: { stableFor: '1s' } }],
  })
  await keepEvidence(broken)
  const done = await bench.until(
    () => bench.jobOf(broken),
    (j) => j?.status?.phase === 'Done',
  )
  expect(done?.status).toMatchObject({
    outcome: 'Succeeded',
    message: `machine ${broken} was deleted; its set creates a replacement`,
  })
  await bench.until(readyNames, (names) => names.length === REPLICAS && !names.includes(broken))
  expect((await readyNames()).filter((name) => !before.has(name))).toHaveLength(1)
  expect([await bench.machine(broken), await bench.node(broken), hosts.has(`memory://${broken}`)]).toEqual([
    undefined,
    undefined,
    false,
  ])
  const permits = (await bench.admin.list(operationPermit)).items
  expect(permits.map((p) => p.spec.requester.kind)).toEqual(['RemedyOperationJob'])
  expect(permits[0]?.spec.operations).toEqual(expect.arrayContaining(['Cordon', 'Replace', 'ScaleIn']))
})

test('nothing of this was refused to the controllers or the Defender', () => expect(bench.forbidden()).toEqual([]))
