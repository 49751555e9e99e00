// Wherever a delivery stops, nothing in the cluster is missing from the Inventory, and the next run finishes it.
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { carryOut } from './carry-out.ts'
import type { Live } from './diff.ts'
import { type InventoryRef, refOf, refText } from './object-ref.ts'
import { planRelease, undeclaredIn } from './release-plan.ts'

const named = (name: string, value = '1'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'shop', name },
  data: { value },
})
const before = [named('a'), named('b'), named('old'), named('older')]
const after = [named('a'), named('b', '2'), named('c')]

class Killed extends Error {}

/** A cluster in memory with an Inventory. Each effect may be the last one of a run. */
class World {
  inventory: readonly InventoryRef[] = []
  readonly cluster = new Map<string, KubeObject>()
  readonly log: string[] = []
  #left = Number.POSITIVE_INFINITY

  #effect(what: string, work: () => void): void {
    if (this.#left-- === 0) throw new Killed()
    work()
    this.log.push(what)
    const recorded = new Set(this.inventory.map(refText))
    for (const name of this.cluster.keys()) expect(recorded, `${name} after ${what}`).toContain(name)
  }

  async run(objects: readonly KubeObject[], { effects = Number.POSITIVE_INFINITY, refused = '' } = {}) {
    this.#left = effects
    const seen = this.inventory
    const liveOf = (ref: InventoryRef): Live =>
      this.cluster.has(refText(ref))
        ? { uid: refText(ref), resourceVersion: '1', commit: undefined, source: 's', matches: true, isDeleting: false }
        : 'Absent'
    const live = new Map(undeclaredIn(seen, objects).map((ref) => [refText(ref), liveOf(ref)]))
    const applied = new Map<string, string>()
    return carryOut<string>(planRelease('s', objects, { inventory: seen, live }), seen, {
      applied: () => applied,
      record: async (refs, when) => {
        this.#effect(`record ${when}`, () => (this.inventory = refs))
        return undefined
      },
      apply: async () => {
        for (const object of objects) {
          const text = refText(refOf(object))
          if (object.metadata.name === refused) return `${refused} was refused`
          this.#effect(`apply ${object.metadata.name}`, () => this.cluster.set(text, object))
          applied.set(text, text)
        }
        return undefined
      },
      remove: async ({ ref }) => {
        this.#effect(`remove ${ref.name}`, () => this.cluster.delete(refText(ref)))
        return true
      },
    })
  }
}

const namesOf = (refs: readonly { readonly name: string }[]): readonly string[] => refs.map((r) => r.name).toSorted()

describe('a delivery', () => {
  test('records, applies, deletes, and records again', async () => {
    const world = new World()
    await world.run(before)
    world.log.length = 0
    expect(await world.run(after)).toBeUndefined()
    expect(world.log).toEqual([
      'record Before',
      'apply a',
      'apply b',
      'apply c',
      'remove old',
      'remove older',
      'record After',
    ])
    expect(namesOf(world.inventory)).toEqual(['a', 'b', 'c'])
  })

  test('that was killed before any effect is finished by the next one', async () => {
    const effects = 7
    for (let kill = 0; kill < effects; kill++) {
      const world = new World()
      await world.run(before)
      await expect(world.run(after, { effects: kill }), `kill ${kill}`).rejects.toThrow(Killed)
      await world.run(after)
      expect([...world.cluster.values()], `kill ${kill}`).toEqual(expect.arrayContaining([...after]))
      expect(world.cluster.size).toBe(after.length)
      expect(namesOf(world.inventory)).toEqual(['a', 'b', 'c'])
    }
  })

  test('of which an object is refused deletes nothing, and keeps every entry', async () => {
    const world = new World()
    await world.run(before)
    expect(await world.run(after, { refused: 'b' })).toBe('b was refused')
    expect(namesOf(world.inventory)).toEqual(['a', 'b', 'c', 'old', 'older'])
    expect(namesOf([...world.cluster.values()].map(refOf))).toEqual(['a', 'b', 'old', 'older'])
  })
})
