// S21: the server enforces a closed list of repair steps with typed arguments; and each repair records its reason, its requester, and its evidence.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import type { KubeClient } from '#kube/client.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'

const COMMIT = 'a'.repeat(40)
let bench: RepairBench

const when = { all: [conditionIs('ReadonlyFilesystem', 'True')] }
const ruleOf = (operation: object) => ({ when, ladder: [{ operations: [operation] }] })

beforeAll(async () => {
  bench = await RepairBench.start()
  for (const name of ['n-0', 'n-1', 'n-2', 'n-3']) await bench.addNode(name)
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
})
afterAll(() => bench.close())

describe('S21 a rule cannot say', () => {
  const evil: readonly (readonly [string, object])[] = [
    ['a verb that is not on the list', { exec: { command: ['sh', '-c', 'id'] } }],
    ['two verbs at once', { cordon: {}, reboot: {} }],
    ['no verb', {}],
    ['a script that is no component', { runScript: { component: '../../bin/sh', version: '1' } }],
    ['an argument as long as a program', { runScript: { component: 'fix', version: '1', args: ['x'.repeat(257)] } }],
    [
      'arguments without end',
      { runScript: { component: 'fix', version: '1', args: Array.from({ length: 17 }, () => 'x') } },
    ],
    ['a folder by a way around', { cleanDisk: { paths: ['relative/x'] } }],
    ['a service that is a path', { restartComponent: { component: '/bin/sh' } }],
    ['a time that is none', { reboot: { timeout: '$(id)' } }],
    ['a URL that is none', { webhook: { url: 'not a url' } }],
  ]
  test.each(evil)('%s', async (_, operation) => {
    await expect(bench.rule('evil', ruleOf(operation) as never)).rejects.toThrow(/evil|Invalid|invalid/)
    expect(await bench.admin.get(nodeRemedier, { name: 'evil' })).toBeUndefined()
  })

  test('a command beside the arguments that a script has: nothing of it is kept', async () => {
    const spec = ruleOf({ runScript: { component: 'fix', version: '1', command: 'sh -c id', env: { A: 'b' } } })
    const kept = await bench.rule('pruned', spec as never).catch(() => undefined)
    expect(JSON.stringify(kept ?? {})).not.toContain('sh -c id')
    if (kept !== undefined) await bench.admin.delete(nodeRemedier, { name: 'pruned' })
  })
})

const denied = (client: KubeClient, object: object, type: typeof remedyOperationJob | typeof operationPermit) =>
  expect(client.create(type as typeof remedyOperationJob, object as never)).rejects.toThrow(/orbidden/)

test('S21 neither an agent nor anybody without the right makes a repair or a permit for one', async () => {
  const spec = {
    node: { name: 'n-0', uid: 'u' },
    remedierRef: { name: 'r', generation: 1 },
    incident: 'abcdefabcdefabcd',
    operations: [{ reboot: {} }],
  }
  const job = { apiVersion: API_GROUP_VERSION, kind: 'RemedyOperationJob', metadata: { name: 'mine' }, spec }
  const permit = { apiVersion: API_GROUP_VERSION, kind: 'OperationPermit', metadata: { name: 'mine' }, spec: {} }
  for (const client of [await bench.agentOf('n-0'), bench.as('ada'), bench.as('kubenode:defender')]) {
    await denied(client, job, remedyOperationJob)
    await denied(client, permit, operationPermit)
  }
})

test('S21 a repair names its rule, its commit, what was kept and who permitted what; nothing of it can be changed later', async () => {
  const metadata = { name: 'read-only', annotations: { 'kubenode.io/commit': COMMIT } }
  const spec = { when, ladder: [{ operations: [{ cordon: {} }, { reboot: {} }] }] }
  await bench.admin.create(nodeRemedier, {
    apiVersion: API_GROUP_VERSION,
    kind: 'NodeRemedier',
    metadata,
    spec,
  } as never)
  await bench.setCondition('n-0', 'ReadonlyFilesystem', 'True')
  const job = await bench.until(
    () => bench.jobOf('n-0'),
    (j) => j?.status?.phase === 'Running',
  )
  const { name = '', uid = '' } = job?.metadata ?? {}
  expect(job?.spec).toMatchObject({
    remedierRef: { name: 'read-only', generation: 1 },
    commit: COMMIT,
    incident: expect.stringMatching(/^[0-9a-f]{16,64}$/) as string,
  })
  expect(job?.spec.operations.map((o) => Object.keys(o)[0])).toEqual(['collectEvidence', 'cordon', 'reboot'])
  const permit = await bench.admin.get(operationPermit, { name: job?.status?.permitRef ?? '' })
  expect(permit?.spec).toMatchObject({
    operations: ['Cordon', 'Reboot'],
    requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name, uid },
    commit: COMMIT,
  })
  expect(permit?.status?.gates?.map((g) => g.gate)).toEqual(expect.arrayContaining(['Target', 'Budget']))
  for (const client of [bench.admin, bench.as('kubenode:controllers')]) {
    const now = await bench.admin.get(remedyOperationJob, { name })
    if (now === undefined) throw new Error('the job is gone')
    const changed = { ...now, spec: { ...now.spec, operations: [{ replace: {} }] } } as RemedyOperationJob
    await expect(client.update(remedyOperationJob, changed)).rejects.toThrow(/is immutable/)
  }
})

test('nothing of this was refused to the controllers or the Defender', () => expect(bench.forbidden()).toEqual([]))
