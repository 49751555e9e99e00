// From the hosts of a cloud to Nodes, and from those to a commit.
import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { machineCode } from './machine-code.ts'
import { runImport } from './run-import.ts'
import { taggedNodes } from './tagged-nodes.ts'

const node = (name: string, providerID?: string, address?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: defined({ providerID }),
  status: { addresses: address === undefined ? [] : [{ type: 'InternalIP', address }] },
})

describe('the Node of a host', () => {
  test.each([
    ['of AWS', 'aws://eu-central-1/i-0abc', 'aws:///eu-central-1a/i-0abc'],
    ['of Alibaba Cloud', 'alicloud://cn-hangzhou/i-bp1', 'cn-hangzhou.i-bp1'],
    ['of a provider of ours', 'alicloud://cn-hangzhou/i-bp1', 'alicloud://cn-hangzhou/i-bp1'],
  ])('%s is the one that names its instance', (_, host, providerID) => {
    const nodes = [node('a', providerID), node('b', `${providerID}0`)]
    expect(taggedNodes([{ providerID: host }], nodes)).toEqual({ names: ['a'], withoutNode: [], doubled: [] })
  })

  test('without an instance is the one at its address', () => {
    const host = { providerID: 'aws://r/i-1', address: '10.0.0.1' }
    expect(taggedNodes([host], [node('a', undefined, '10.0.0.1'), node('b', undefined, '10.0.0.2')]).names).toEqual([
      'a',
    ])
  })

  test('is none where the address is that of another instance, or of two Nodes', () => {
    const host = { providerID: 'aws://r/i-1', address: '10.0.0.1' }
    const other = [node('a', 'aws:///r/i-2', '10.0.0.1')]
    const two = [node('a', undefined, '10.0.0.1'), node('b', undefined, '10.0.0.1')]
    for (const nodes of [other, two])
      expect(taggedNodes([host], nodes)).toEqual({ names: [], withoutNode: [host], doubled: [] })
  })

  test.each([
    ['rack://eu/c.b', 'rack://eu/a.b'],
    ['rack://a', 'rack://host.a'],
    ['alicloud://cn-hangzhou/i-1', 'cn-shanghai.i-1'],
  ])('%s is not %s, which only ends alike', (providerID, other) => {
    const host = { providerID }
    expect(taggedNodes([host], [node('a', other)])).toEqual({ names: [], withoutNode: [host], doubled: [] })
  })

  test('is none where two Nodes name its instance, and they are named', () => {
    const host = { providerID: 'aws://r/i-1' }
    const nodes = [node('a', 'aws:///ra/i-1'), node('b', 'aws:///rb/i-1')]
    expect(taggedNodes([host], nodes)).toEqual({ names: [], withoutNode: [], doubled: [{ host, nodes: ['a', 'b'] }] })
  })
})

function world() {
  const fake = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    kinds: KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined })),
  })
  const said = { out: '', err: '' }
  const io = { out: (t: string) => void (said.out += t), err: (t: string) => void (said.err += t) }
  return { fake, said, io: io as never, client: fake.client({ actor: 'person' }) }
}

test('an import by tag observes the Nodes on the hosts, and names the hosts that are no Nodes here', async () => {
  const { fake, said, io, client } = world()
  fake.plant(nodeType, node('db-1', 'aws:///eu-central-1a/i-1'))
  fake.plant(nodeType, node('web-1', 'aws:///eu-central-1a/i-2'))
  const hosts = [
    { providerID: 'aws://eu-central-1/i-1' },
    { providerID: 'aws://eu-central-1/i-9', address: '10.0.0.9' },
  ]
  expect(await runImport({ client, names: [], hosts }, io)).toEqual({ failed: 0 })
  const machines = fake.all(machineType)
  expect(machines.map((m) => m.metadata.name)).toEqual(['db-1'])
  // Its host is kept, whatever happens to the Machine: KubeNode did not create it.
  expect(machines[0]).toMatchObject({ spec: { channel: 'Observe', provider: { name: 'static' } } })
  expect(said.err).toContain('aws://eu-central-1/i-9 (10.0.0.9): not a Node here; left out')
})

test('an import that is printed as TypeScript creates nothing, and no name or label can become code', async () => {
  const { fake, said, io, client } = world()
  fake.plant(nodeType, node('db-1', 'aws:///eu-central-1a/i-1'))
  await runImport({ client, names: [], hosts: [{ providerID: 'aws://r/i-1' }], output: 'ts' }, io)
  expect(fake.all(machineType)).toEqual([])
  expect(said.out).toMatch(/^import \{ Machine \} from 'kubenode\/constructs'$/m)
  expect(said.out).toContain('new Machine(chart, "db-1", {')
  const evil = "a'); process.exit(1) //`${x}`"
  const code = machineCode([
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: evil, labels: { [evil]: evil } },
      spec: { channel: 'Observe' },
    },
  ])
  expect(code).toContain(`new Machine(chart, ${JSON.stringify(evil)}, {`)
  expect(code).toContain(`${JSON.stringify(evil)}: ${JSON.stringify(evil)}`)
})
