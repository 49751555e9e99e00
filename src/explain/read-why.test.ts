import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { machine } from '#api/kinds/machine.ts'
import { seededRandom } from '#lib/random.ts'
import { nodeType } from '#nodes/objects.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { readWhy } from './read-why.ts'

const API = 'kubenode.io/v1alpha1'
const NOW = Date.parse('2026-03-02T12:00:00Z')

function server() {
  const kube = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined })),
  })
  const node = kube.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } })
  kube.plant(machine, { apiVersion: API, kind: 'Machine', metadata: { name: 'm-1' }, spec: {} })
  kube.poke(machine, { name: 'm-1' }, { status: { nodeRef: { name: 'node-1', uid: node.metadata.uid } } }, 'status')
  for (const [name, of, kind] of [
    ['reboot-1', 'm-1', 'Reboot'],
    ['stop-2', 'm-2', 'Stop'],
  ] as const)
    kube.plant(maintenanceEvent, {
      apiVersion: API,
      kind: 'MaintenanceEvent',
      metadata: { name },
      spec: {
        machine: of,
        source: 'cloud',
        eventId: name,
        kind,
        state: 'Scheduled',
        notBefore: '2026-03-02T20:00:00Z',
      },
    })
  return kube
}

test.each([
  ['its Machine', machine, 'm-1'],
  ['its Node, which has another name', nodeType, 'node-1'],
])('why %s names work on its host, and not the work on other hosts', async (_, type, name) => {
  const client = server().client({ actor: 'test' })
  const object = await client.get(type, { name })
  if (object === undefined) throw new Error('not planted')
  const text = (await readWhy(client, object, NOW)).join('\n')
  expect(text).toContain('Work on its host:')
  expect(text).toMatch(/maintenanceevent\/reboot-1/i)
  expect(text).not.toContain('stop-2')
})
