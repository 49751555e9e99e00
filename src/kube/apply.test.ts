import { describe, expect, it } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { coreKind } from './core-kinds.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { applyObject, describeConflicts } from './apply.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'

const CONFIG = coreKind('ConfigMap')
const config = (data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'default' },
  data,
})

describe('apply with a conflict report', () => {
  it('names every owner and its fields, and force takes them', async () => {
    const client = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1) }).client({ actor: 'a' })
    await applyObject(client, CONFIG, config({ a: '1' }), { fieldManager: 'one' })
    await applyObject(client, CONFIG, config({ b: '1', c: '1' }), { fieldManager: 'two' })
    const wanted = config({ a: '9', b: '9', c: '9' })
    const refused = await applyObject(client, CONFIG, wanted, { fieldManager: 'three' })
    expect(refused.kind === 'Conflict' && refused.conflicts).toEqual([
      { manager: 'one', subresource: undefined, fields: ['.data.a'] },
      { manager: 'two', subresource: undefined, fields: ['.data.b', '.data.c'] },
    ])
    expect(refused.kind === 'Conflict' && describeConflicts(refused.conflicts)).toBe(
      '.data.a belongs to one; .data.b, .data.c belong to two',
    )
    const forced = await applyObject(client, CONFIG, wanted, { fieldManager: 'three', force: true })
    expect(forced.kind === 'Applied' && forced.object['data']).toEqual({ a: '9', b: '9', c: '9' })
  })
})
