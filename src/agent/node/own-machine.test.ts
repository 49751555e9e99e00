// Without its Machine, an agent creates nothing on the server.
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { HostFacts } from './facts.ts'
import { NodeObject } from './node-object.ts'
import { isMachineThere } from './own-machine.ts'
import { nodeType } from './types.ts'

const FACTS = { hostname: 'm', os: 'linux', arch: 'amd64' } as HostFacts
const status = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm' }, status: {} }

/** `uid`: of the Machine in the agent's certificate. */
async function reported(name: string, uid: (made: string) => string | undefined): Promise<boolean> {
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const client = fake.client({ actor: 'agent' })
  const spec = { channel: 'Agent' as const }
  const made = await client.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    spec,
  })
  const register = () => isMachineThere(client, 'm', uid(made.metadata.uid ?? ''))
  const node = new NodeObject({ client, log: silentLogger, name: 'm', facts: FACTS, register })
  await node.applyStatus(status).catch(() => undefined)
  return fake.peek(nodeType, { name: 'm' }) !== undefined
}

test.each<[string, string, (made: string) => string | undefined, boolean]>([
  ['of a Machine that is there is registered', 'm', (made) => made, true],
  ['is registered by an agent of earlier versions, whose certificate names no uid', 'm', () => undefined, true],
  ['of a Machine that is gone is not registered again', 'another', () => 'u', false],
  [
    'of a Machine that was made again under its name is not registered by the agent of the one before',
    'm',
    () => 'u',
    false,
  ],
])('a Node %s', async (_, name, uid, expected) => {
  expect(await reported(name, uid)).toBe(expected)
})
