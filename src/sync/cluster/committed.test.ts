// What sync leaves behind at each moment of a pass, judged like a controller: a declared object is never blocked, an undeclared one never takes effect.
import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { contentOf } from '#api/protocol/committed.ts'
import { seededRandom } from '#lib/random.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { KubeClient } from '#kube/client.ts'
import { type View, committedIn, viewOf } from '#declared/committed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { type ApplyOrder, applyToCluster } from './apply.ts'
import type { ClusterConfig } from '#delivery/diff.ts'

const NOW = VIRTUAL_EPOCH_MS
const NAME = 'base'
type Version = `${number}.0.0`

const declare = (version: Version): KubeObject => {
  const { spec } = machineComponentSet.example
  return {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: NAME },
    spec: { ...spec, components: [{ name: 'beacon', version }] },
  }
}

class Killed extends Error {}

/** Stops like a killed process: before the write with this number is sent. */
function dyingClient(client: KubeClient, afterWrites: number): KubeClient {
  let left = afterWrites
  const write =
    <A extends readonly unknown[], R>(f: (...a: A) => Promise<R>) =>
    async (...a: A): Promise<R> => {
      if (left-- <= 0) throw new Killed('killed')
      return f(...a)
    }
  return {
    get: (...a) => client.get(...a),
    list: (...a) => client.list(...a),
    apply: write(client.apply.bind(client)),
    update: write(client.update.bind(client)),
    delete: write(client.delete.bind(client)),
  } as KubeClient
}

function world() {
  const clock = new VirtualClock()
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const people = fake.client({ actor: 'people' })
  const types = {
    of: async (_: string, kind: string) => KINDS.find((k) => k.kind === kind),
    ofGroup: async (_: string, kind: string) => KINDS.find((k) => k.kind === kind),
  }
  const sync = async (objects: readonly KubeObject[], drift: ClusterConfig['drift'] = 'Correct', writes = Infinity) => {
    const client = dyingClient(fake.client({ actor: 'sync' }), writes)
    const order: ApplyOrder = {
      target: {
        objects: objects.map((object) => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
        rejected: [],
      },
      owner: { source: 'kubenode-system/fleet', track: 'main', target: 'Member' },
      mark: { commit: 'c'.repeat(40), release: 'main-c', appliedAt: new Date(NOW).toISOString() },
      config: {
        commit: 'c'.repeat(40),
        prune: { enabled: true, guard: '100%' },
        drift,
      },
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
    }
    return applyToCluster({ name: 'test', client, program: client, types } as unknown as ClusterConnection, order)
  }
  const view = async (): Promise<View<MachineComponentSet> | undefined> => {
    const [found, inventories, holds] = await Promise.all([
      people.get(machineComponentSet, { name: NAME }),
      people.list(inventory),
      people.list(operationalHold),
    ])
    const committed = committedIn(inventories.items).get(`MachineComponentSet/${NAME}`)
    return found && viewOf(found, committed, holds.items, NOW)
  }
  const edit = async (change: object) => {
    const found = await people.get(machineComponentSet, { name: NAME })
    if (found === undefined) throw new Error('nothing to edit')
    return people.update(
      machineComponentSet,
      { ...found, spec: { ...found.spec, ...change } },
      { fieldManager: 'kubectl-edit' },
    )
  }
  const live = async () => (await people.get(machineComponentSet, { name: NAME }))?.spec
  return { sync, view, edit, live, people }
}

const actsOn = (v: View<MachineComponentSet> | undefined) =>
  v?.isHeld === true ? 'nothing' : v?.object.spec.components[0]?.version
const OTHER = { components: [{ name: 'beacon', version: '9.9.9' }] }
const MOST_WRITES = 12

/** Counts the writes of a pass: stops it one write later each time, until it completes. */
async function atEachWrite(pass: (w: ReturnType<typeof world>, writes: number) => Promise<unknown>): Promise<number> {
  for (let writes = 0; writes < MOST_WRITES; writes++) {
    const w = world()
    try {
      await pass(w, writes)
      return writes
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
  }
  throw new Error(`a pass has more than ${MOST_WRITES} writes`)
}

describe('killed before any write', () => {
  test('of a commit that changes the object, sync leaves content that acts, and the next pass ends it', async () => {
    const writes = await atEachWrite(async (w, n) => {
      await w.sync([declare('1.0.0')])
      const killed = await w.sync([declare('2.0.0')], 'Correct', n).then(
        (report) => report,
        (error: unknown) => error,
      )
      const left = await w.view()
      expect([left?.isHeld, left?.edit]).toEqual([false, undefined])
      expect(['1.0.0', '2.0.0']).toContain(actsOn(left))
      const again = await w.sync([declare('2.0.0')])
      expect([again.answer.kind === 'Seen' && again.answer.failures, actsOn(await w.view())]).toEqual([[], '2.0.0'])
      expect((await w.view())?.isHeld).toBe(false)
      const after = await w.sync([declare('2.0.0')])
      expect(after.plan?.operations).toEqual([])
      if (killed instanceof Error) throw killed
      if ((killed as typeof again).result?.failures.some((f) => f.message === 'killed') === true) throw new Killed()
    })
    expect(writes).toBe(3)
  })

  test('of a commit while the object is edited, the edit never acts', async () => {
    const writes = await atEachWrite(async (w, n) => {
      await w.sync([declare('1.0.0')])
      await w.edit(OTHER)
      expect(actsOn(await w.view())).toBe('1.0.0')
      const killed = await w.sync([declare('2.0.0')], 'Correct', n).catch((error: unknown) => error)
      expect(['1.0.0', '2.0.0']).toContain(actsOn(await w.view()))
      await w.sync([declare('2.0.0')])
      expect([(await w.view())?.edit, actsOn(await w.view())]).toEqual([undefined, '2.0.0'])
      if (killed instanceof Error) throw killed
      if (JSON.stringify(killed).includes('"killed"')) throw new Killed()
    })
    expect(writes).toBeGreaterThanOrEqual(3)
  })

  test('of the first commit, nothing is held up', async () => {
    await atEachWrite(async (w, n) => {
      const killed = await w.sync([declare('1.0.0')], 'Correct', n).catch((error: unknown) => error)
      const left = await w.view()
      expect(left?.isHeld ?? false).toBe(false)
      await w.sync([declare('1.0.0')])
      expect([(await w.view())?.edit, actsOn(await w.view())]).toEqual([undefined, '1.0.0'])
      if (killed instanceof Error) throw killed
      if (JSON.stringify(killed).includes('"killed"')) throw new Killed()
    })
  })

  test('of a deletion, the object is no longer held to what git declared', async () => {
    await atEachWrite(async (w, n) => {
      await w.sync([declare('1.0.0')])
      const killed = await w.sync([], 'Correct', n).catch((error: unknown) => error)
      const listed = committedIn((await w.people.list(inventory)).items)
      if (n > 0) expect(listed.get(`MachineComponentSet/${NAME}`)).toBeUndefined()
      if (killed instanceof Error) throw killed
      if (JSON.stringify(killed).includes('"killed"')) throw new Killed()
    })
  })
})

describe('an edit', () => {
  test.each([
    ['of a declared field', OTHER],
    ['of a field that git leaves alone', { priority: 99 }],
    [
      'that adds an entry',
      {
        components: [
          { name: 'beacon', version: '1.0.0' },
          { name: 'x', version: '1.0.0' },
        ],
      },
    ],
  ])('%s has no effect and is put back by the next pass', async (_, change) => {
    const w = world()
    await w.sync([declare('1.0.0')])
    const before = await w.live()
    await w.edit(change)
    const edited = await w.view()
    expect(edited?.edit).toBeDefined()
    expect(contentOf({ kind: 'MachineComponentSet', spec: edited?.object.spec })).toEqual(contentOf(declare('1.0.0')))
    await w.sync([declare('1.0.0')])
    expect([(await w.view())?.edit, await w.live()]).toEqual([undefined, before])
    expect((await w.sync([declare('1.0.0')])).plan?.operations).toEqual([])
  })

  test('that is put back by hand acts at once, and stays', async () => {
    const w = world()
    await w.sync([declare('1.0.0')])
    await w.edit(OTHER)
    await w.edit({ components: [{ name: 'beacon', version: '1.0.0' }] })
    expect((await w.view())?.edit).toBeUndefined()
    expect((await w.sync([declare('1.0.0')])).plan?.operations).toEqual([])
  })

  test.each(['Detect', 'Off'] as const)(
    'acts at once with drift: %s, also after a change of the mode',
    async (drift) => {
      const w = world()
      await w.sync([declare('1.0.0')])
      await w.sync([declare('1.0.0')], drift)
      await w.edit(OTHER)
      expect(actsOn(await w.view())).toBe('9.9.9')
      await w.sync([declare('1.0.0')], drift)
      expect(actsOn(await w.view())).toBe('9.9.9')
      await w.sync([declare('1.0.0')])
      expect(actsOn(await w.view())).toBe('1.0.0')
      expect((await w.view())?.edit).toBeUndefined()
    },
  )

  test('that a hold allows acts and stays until the hold ends or git declares something else', async () => {
    const w = world()
    await w.sync([declare('1.0.0')])
    await w.edit(OTHER)
    const digest = (await w.view())?.edit?.digest ?? ''
    const hold = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationalHold',
      metadata: { name: 'night' },
      spec: {
        target: { kind: 'MachineComponentSet', name: NAME },
        effect: 'AllowEdit',
        to: digest,
        reason: 'git is away',
        author: 'ada',
        until: new Date(NOW + 3_600_000).toISOString(),
      },
    } as const
    await w.people.create(operationalHold, hold)
    expect(actsOn(await w.view())).toBe('9.9.9')
    const { plan } = await w.sync([declare('1.0.0')])
    expect(plan?.operations.map((o) => o.reason)).toEqual(['EditAllowed'])
    expect(actsOn(await w.view())).toBe('9.9.9')
    await w.sync([declare('2.0.0')])
    expect([actsOn(await w.view()), (await w.view())?.edit]).toEqual(['2.0.0', undefined])
    await w.edit(OTHER)
    expect(actsOn(await w.view())).toBe('9.9.9')
    await w.people.delete(operationalHold, { name: 'night' })
    expect(actsOn(await w.view())).toBe('2.0.0')
    await w.sync([declare('2.0.0')])
    expect((await w.view())?.edit).toBeUndefined()
  })
})

test('an Inventory of before, without contents, acts as it did and is completed by the next pass', async () => {
  const w = world()
  await w.sync([declare('1.0.0')], 'Off')
  await w.edit(OTHER)
  expect(actsOn(await w.view())).toBe('9.9.9')
  await w.sync([declare('1.0.0')])
  expect([actsOn(await w.view()), (await w.view())?.edit]).toEqual(['1.0.0', undefined])
  await w.edit(OTHER)
  expect((await w.view())?.edit).toBeDefined()
})
