// Before the programs stop, every host removes its agent; one whose agent does not answer is listed and blocks nothing.
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { ABANDONED_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { InstallContext } from '../context.ts'
import type { Installed } from '../observe.ts'
import { abandonedLines, handBackHosts, hasAgent } from './hand-back.ts'

const deployment = (name: string, availableReplicas: number): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: SYSTEM_NAMESPACE },
  spec: { replicas: 1 },
  status: { availableReplicas },
})

function world(availableReplicas = 1) {
  const clock = new VirtualClock()
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const said: string[] = []
  const context = {
    client: fake.client({ actor: 'installer' }),
    clock,
    print: (line: string) => void said.push(line),
    timeoutMs: 60_000,
  } as unknown as InstallContext
  const installed = { workloads: [deployment('kubenode-controllers', availableReplicas)] } as unknown as Installed
  const plant = (name: string, provider: string, agent: object | undefined) => {
    const metadata = { name, finalizers: ['kubenode.io/machine'] }
    const spec = { channel: 'Agent', provider: { name: provider } }
    fake.plant(machineType, { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata, spec })
    if (agent !== undefined) fake.poke(machineType, { name }, { status: { agent } }, 'status')
  }
  const found = (name: string) => fake.peek(machineType, { name }) as Machine | undefined
  const left = (name: string) =>
    fake.poke(machineType, { name }, { status: { agent: { version: '0.1.0', phase: 'Left' } } }, 'status')
  return { clock, fake, said, context, installed, plant, found, left }
}

test('an existing host is restored, one of a provider keeps what runs, and a silent one is named after the timeout', async () => {
  const w = world()
  w.plant('mine', 'static', { version: '0.1.0' })
  w.plant('made', 'nspawn', { version: '0.1.0' })
  w.plant('silent', 'static', { version: '0.1.0' })
  w.plant('bare', 'static', undefined)
  const over = handBackHosts(w.context, w.installed)
  await w.clock.advance(2_000)
  expect([w.found('mine')?.metadata.deletionTimestamp, w.found('made')?.spec.channel]).toEqual([
    expect.any(String),
    'Observe',
  ])
  expect([w.found('made')?.metadata.deletionTimestamp, w.found('bare')?.metadata.deletionTimestamp]).toEqual([
    undefined,
    undefined,
  ])
  w.left('mine')
  w.left('made')
  await w.clock.advance(70_000)
  expect(await over).toEqual(['silent'])
  expect(w.said[0]).toBe('handing back 3 hosts')
})

test('without running controllers agents stay, and nothing is waited for', async () => {
  const w = world(0)
  w.plant('mine', 'static', { version: '0.1.0' })
  expect(await handBackHosts(w.context, w.installed)).toEqual(['mine'])
  expect([w.found('mine')?.metadata.deletionTimestamp, w.said]).toEqual([
    undefined,
    ['the controllers do not run, so 1 agent stays'],
  ])
})

test('a host whose agent has left is not counted among those that have one', () => {
  const of = (agent: object | undefined) => hasAgent({ status: { agent } } as unknown as Machine)
  expect([of(undefined), of({ version: '0.1.0' }), of({ version: '0.1.0', phase: 'Left' })]).toEqual([
    false,
    true,
    false,
  ])
})

test('hosts that were given up are listed', async () => {
  const w = world()
  expect(await abandonedLines(w.context)).toEqual([])
  const metadata = { name: ABANDONED_HOSTS, namespace: SYSTEM_NAMESPACE }
  w.fake.plant(coreKind('ConfigMap'), { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'db-1': '{}' } })
  expect(await abandonedLines(w.context)).toEqual([
    '1 abandoned host, which did not answer: db-1; run kubenode agent leave there',
  ])
})
