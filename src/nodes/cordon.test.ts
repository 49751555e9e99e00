import fc from 'fast-check'
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { CLEARANCE } from '#test/support/permits/clearance.ts'
import { describe, expect, test } from 'vitest'
import { cordon, cordonOwners, isCordonedBy, uncordon, withCordon, withoutCordon } from './cordon.ts'
import { type Node, type Taint, nodeType } from './objects.ts'

const NOW = Date.UTC(2026, 0, 5)
const foreign: Taint = { key: 'example.org/x', effect: 'NoExecute' }
const node = (owners?: string, taints: readonly Taint[] = [foreign]): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'n',
    annotations: { other: 'kept', ...(owners !== undefined && { [ANNOTATIONS.cordon]: owners }) },
  },
  spec: { taints, unschedulable: true },
})
const ours: Taint = { key: TAINTS.cordon, effect: 'NoSchedule' }
const claim = { reason: 'a switch' }

const written = (m: ReturnType<typeof withCordon>): Node => {
  if (m.kind !== 'Write') throw new Error(m.kind)
  return m.object
}

describe('a cordon', () => {
  test('comes with its first owner: taint and annotation together, and nothing of others changes', () => {
    const after = written(withCordon(node(), 'a', claim, NOW))
    expect(after.spec).toEqual({ taints: [foreign, ours], unschedulable: true })
    expect(after.metadata.annotations).toEqual({ other: 'kept', [ANNOTATIONS.cordon]: '{"a":{"reason":"a switch"}}' })
  })

  test('stays for as long as one owner is left, and goes with the last', () => {
    const both = written(withCordon(written(withCordon(node(), 'a', claim, NOW)), 'b', claim, NOW))
    const one = written(withoutCordon(both, 'a', NOW))
    expect([isCordonedBy(one, 'a'), isCordonedBy(one, 'b')]).toEqual([false, true])
    expect(written(withoutCordon(one, 'b', NOW))).toEqual(node())
  })

  test('is not lifted for an owner that has none', () => {
    expect(withoutCordon(node(), 'a', NOW)).toEqual({ kind: 'Keep' })
  })

  test('an owner whose time is over does not count any more', () => {
    const lapsed = written(withCordon(node(), 'a', { reason: 'x', until: timestamp(NOW - 1_000) }, NOW - 5_000))
    expect(cordonOwners(written(withCordon(lapsed, 'b', claim, NOW)))).toEqual({ kind: 'Owners', owners: { b: claim } })
  })

  test.each(['not json', '[]', '{"a":1}', '{"a":{"reason":1}}'])(
    'an annotation that cannot be read lifts nothing: %s',
    (text) => {
      const unreadable = node(text, [ours])
      expect(withoutCordon(unreadable, 'a', NOW).kind).toBe('Refuse')
      expect(isCordonedBy(unreadable, 'a')).toBe(false)
      expect(isCordonedBy(written(withCordon(unreadable, 'a', claim, NOW)), 'a')).toBe(true)
    },
  )

  test('a taint that was removed is restored for the remaining owners', () => {
    expect(written(withCordon(node('{"a":{"reason":"a switch"}}'), 'a', claim, NOW)).spec?.taints).toEqual([
      foreign,
      ours,
    ])
  })

  test('whatever owners come and go, the taint is there exactly while one is left', () => {
    const steps = fc.array(fc.record({ owner: fc.constantFrom('a', 'b', '__proto__'), add: fc.boolean() }), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(steps, (all) => {
        let at = node()
        const wanted = new Set<string>()
        for (const { owner, add } of all) {
          const m = add ? withCordon(at, owner, claim, NOW) : withoutCordon(at, owner, NOW)
          if (m.kind === 'Write') at = m.object
          if (add) wanted.add(owner)
          else wanted.delete(owner)
        }
        expect(at.spec?.taints?.some((t) => t.key === TAINTS.cordon)).toBe(wanted.size > 0)
        for (const owner of ['a', 'b', '__proto__']) expect(isCordonedBy(at, owner)).toBe(wanted.has(owner))
      }),
      { numRuns: 200 },
    )
  })

  test('is written in one update, and never on another node of the name', async () => {
    const clock = new VirtualClock()
    const fake = new FakeKube({ clock, random: seededRandom(1) })
    const { uid = '' } = fake.plant(nodeType, node()).metadata
    const tools = {
      client: fake.client({ actor: 'c' }),
      clock,
      random: seededRandom(2),
      fieldManager: 'kubenode-machine',
    }
    expect(await cordon(CLEARANCE, tools, { name: 'n', uid }, 'a', claim)).toMatchObject({
      kind: 'Swapped',
      wrote: true,
    })
    expect(await cordon(CLEARANCE, tools, { name: 'n', uid }, 'a', claim)).toMatchObject({
      kind: 'Swapped',
      wrote: false,
    })
    expect(fake.callsOf('c').writes).toBe(1)
    expect(await uncordon(tools, { name: 'n', uid: 'another' }, 'a')).toMatchObject({ kind: 'Refused' })
    expect(isCordonedBy(fake.peek(nodeType, { name: 'n' }) as Node, 'a')).toBe(true)
  })
})
