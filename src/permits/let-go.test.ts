import { KINDS } from '#api/kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { MOST_LET_GO, isLetGo, letGoFrom, withLetGo } from '#api/protocol/let-go.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { reportConfirmed } from './let-go.ts'

const NOW = Date.UTC(2026, 0, 5)

const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))

function world() {
  const fake = new FakeKube({ clock: new VirtualClock(NOW), random: seededRandom(1), kinds })
  fake.plant(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm' },
    spec: { channel: 'Agent' },
  })
  const m = fake.peek(machineType, { name: 'm' }) as Machine
  const uid = m.metadata.uid ?? ''
  fake.plant(operationPermit, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations: ['SwitchComponent'],
      targets: [{ kind: 'Machine', name: 'm', uid }],
      requester: { manager: FIELD_MANAGERS.componentSet },
      reason: 'a test',
    },
  })
  const permit = fake.peek(operationPermit, { name: 'p' }) as OperationPermit
  const tools = { client: fake.client({ actor: 'test' }), fieldManager: FIELD_MANAGERS.componentSet }
  const now = () => fake.peek(machineType, { name: 'm' }) as Machine
  const result = () => (fake.peek(operationPermit, { name: 'p' }) as OperationPermit).spec.results?.[uid]
  return { fake, tools, permit, part: { machine: 'm', uid, result: 'Released' as const }, now, result }
}

describe('a slot', () => {
  test('F3 is freed after its machine was let go, which refuses an order that rests on the version before', async () => {
    const { tools, permit, part, now, result } = world()
    const before = now()
    expect((await reportConfirmed(tools, permit, [part], () => 'OnceLetGo')).kind).toBe('Applied')
    expect(isLetGo(now(), permit.metadata.uid ?? '')).toBe(true)
    expect(result()).toBe('Released')
    await expect(tools.client.update(machineType, before)).rejects.toMatchObject({ status: 409 })
  })

  test('of a machine that was released before a crash is freed without another order', async () => {
    const { tools, permit, part, now, result } = world()
    await tools.client.update(machineType, withLetGo(now(), permit.metadata.uid ?? ''))
    const { resourceVersion } = now().metadata
    expect((await reportConfirmed(tools, permit, [part], () => 'OnceLetGo')).kind).toBe('Applied')
    expect(now().metadata.resourceVersion).toBe(resourceVersion)
    expect(result()).toBe('Released')
  })

  test('F3 stays taken when the machine changed after it was looked at', async () => {
    const { fake, tools, permit, part, now, result } = world()
    const look = () => {
      fake.poke(machineType, { name: 'm' }, { metadata: { labels: { an: 'order' } } })
      return 'OnceLetGo' as const
    }
    expect((await reportConfirmed(tools, permit, [part], look)).kind).toBe('Outdated')
    expect(letGoFrom(now())).toEqual([])
    expect(result()).toBeUndefined()
  })

  test('stays taken when the permit changed since it was decided', async () => {
    const { fake, tools, permit, part, result } = world()
    fake.poke(operationPermit, { name: 'p' }, { metadata: { labels: { another: 'look' } } })
    expect((await reportConfirmed(tools, permit, [part], () => 'Yes')).kind).toBe('Conflict')
    expect(result()).toBeUndefined()
  })
})

test('a machine remembers the latest permits that it was let go from, each once', () => {
  const many = Array.from({ length: MOST_LET_GO + 3 }, (_, i) => `u-${i}`)
  const m = [...many, 'u-5'].reduce((at, uid) => withLetGo(at, uid), { metadata: {} })
  expect(letGoFrom(m)).toEqual([...many.slice(3).filter((uid) => uid !== 'u-5'), 'u-5'])
  expect(letGoFrom(m).length).toBeLessThanOrEqual(MOST_LET_GO)
})
