import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import {
  type ControllerRevision,
  controllerRevisionType,
  newRevision,
} from '#controllers/componentset/revisions/revisions.ts'
import { silentLogger } from '#lib/log.ts'
import { Semaphore } from '#lib/semaphore.ts'
import { seededRandom } from '#lib/random.ts'
import { nodeType } from '#nodes/objects.ts'
import { createInformers, type Informers } from '#runtime/informers.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { component, componentSet, condition, readyNode, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { PredictionRecorder } from './prediction-recorder.ts'
import { predictionOf } from './recorded-prediction.ts'

const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
const MACHINES = 5

let clock: VirtualClock
let fake: FakeKube
let informers: Informers
let recorder: PredictionRecorder
let turns: Semaphore

beforeEach(() => {
  clock = new VirtualClock()
  fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  turns = new Semaphore(1, { what: 'forecasts' })
})
afterEach(async () => {
  await recorder.stop()
  await informers.stop()
})

const setOf = (version: string) => componentSet({ beacon: version }, { maxUnavailable: '50%' })

/** Machines with 1.0.0, a set that declares this version, and the revision of before. */
async function started(version: string, machines = MACHINES): Promise<ControllerRevision> {
  for (const v of ['1.0.0', '1.1.0']) fake.plant(machineComponent, component('beacon', v))
  for (let n = 0; n < machines; n++) {
    const { status, ...made } = workingMachine(`m-${n}`, { versions: { beacon: '1.0.0' } })
    const planted = fake.plant(nodeType, readyNode(`m-${n}`))
    fake.plant(machineType, made)
    const conditions = [...(status?.conditions ?? []), condition('Ready', 'True')]
    const nodeRef = { name: `m-${n}`, uid: planted.metadata.uid }
    fake.poke(machineType, { name: `m-${n}` }, { status: { ...status, conditions, nodeRef } }, 'status')
  }
  const planted = fake.plant(machineComponentSet, setOf(version))
  const set = { ...setOf(version), metadata: planted.metadata }
  const first = newRevision({ ...setOf('1.0.0'), metadata: planted.metadata }, [])
  fake.plant(controllerRevisionType, first)
  const current = first.metadata.name
  const status = { revisions: { current }, durations: [{ component: 'beacon', seconds: [120] }] }
  fake.poke(machineComponentSet, { name: 'base' }, { status }, 'status')
  // Longer ago than what is new.
  await clock.advance(600_000)
  await lead()
  return newRevision(set, [first])
}

/** Starts a recorder, as each new leader does. */
async function lead(): Promise<void> {
  const client = fake.client({ actor: 'controllers' })
  informers = createInformers({ client, clock, random: seededRandom(2), log: silentLogger, startSpreadMs: 0 })
  recorder = new PredictionRecorder({ client, informers, clock, log: silentLogger, turns })
  informers.start()
  const synced = informers.synced()
  await clock.advance(1_000)
  await synced
}

/** Plants what is given, lets the recorder observe it and check, and returns the prediction of the revision. */
async function predicted(revision: ControllerRevision, others: readonly ControllerRevision[] = []) {
  for (const planted of [revision, ...others]) fake.plant(controllerRevisionType, planted)
  await clock.advance(1_000)
  await recorder.check()
  return predictionOf(read(revision.metadata.name))
}

const read = (name = ''): ControllerRevision =>
  fake.peek(controllerRevisionType, { namespace: SYSTEM_NAMESPACE, name }) as ControllerRevision

describe('the recorder of predictions', () => {
  test('records how long the rollout of a new revision is predicted to take, once', async () => {
    const revision = await started('1.1.0')
    const made = await predicted(revision)
    expect(made).toMatchObject({ revision: 2, components: ['beacon'] })
    // Five machines, at most two at once, two minutes each, with soaks.
    expect(made?.seconds).toBeGreaterThanOrEqual(360)
    expect(made?.seconds).toBeLessThan(1_800)
    await clock.advance(30_000)
    await recorder.check()
    expect(predictionOf(read(revision.metadata.name))).toEqual(made)
  })

  test('predicts nothing for a revision that was there when it started', async () => {
    await started('1.1.0')
    await recorder.check()
    for (const r of fake.all(controllerRevisionType)) expect(predictionOf(r as ControllerRevision)).toBeUndefined()
  })

  test('predicts nothing for a revision that switches no machine', async () => {
    expect(await predicted(await started('1.1.0', 0))).toBeUndefined()
  })

  test('predicts nothing for a component whose switches are not measured', async () => {
    const revision = await started('1.1.0')
    fake.poke(machineComponentSet, { name: 'base' }, { status: { durations: [] } }, 'status')
    expect(await predicted(revision)).toBeUndefined()
  })

  test('predicts only the last of the revisions that a set has made since', async () => {
    const older = await started('1.1.0')
    const newer = { ...older, metadata: { ...older.metadata, name: 'base-newer' }, revision: older.revision + 1 }
    expect(await predicted(older, [newer])).toBeUndefined()
    expect(predictionOf(read('base-newer'))).toMatchObject({ revision: newer.revision })
  })

  test.each([
    [19, true],
    [20, false],
  ])('with %d rollouts that begin after it, predicts the oldest: %s', async (count, isPredicted) => {
    const revision = await started('1.1.0')
    const [owner] = revision.metadata.ownerReferences ?? []
    if (owner === undefined) throw new Error('the set owns it')
    const others = Array.from({ length: count }, (_, n) => ({
      ...revision,
      metadata: { ...revision.metadata, name: `other-${n}`, ownerReferences: [{ ...owner, uid: `other-${n}` }] },
    }))
    expect((await predicted(revision, others)) !== undefined).toBe(isPredicted)
  })

  test.each([
    [62, true],
    [63, false],
  ])('with %d components to come in another set and 79 machines, predicts: %s', async (count, isPredicted) => {
    const revision = await started('1.1.0', 79)
    const components = Object.fromEntries(Array.from({ length: count }, (_, n) => [`part-${n}`, '1.0.0']))
    const other = componentSet(components)
    fake.plant(machineComponentSet, { ...other, metadata: { name: 'other' } })
    expect((await predicted(revision)) !== undefined).toBe(isPredicted)
  })

  test('writes once more when another writer was faster, and keeps what that one wrote', async () => {
    const revision = await started('1.1.0')
    const key = { namespace: SYSTEM_NAMESPACE, name: revision.metadata.name ?? '' }
    let writes = 0
    fake.faults = {
      call: ({ verb }) => {
        if (verb === 'update' && writes++ === 0)
          fake.poke(controllerRevisionType, key, { metadata: { annotations: { other: 'writer' } } })
        return undefined
      },
    }
    expect(await predicted(revision)).toMatchObject({ revision: 2 })
    expect(read(revision.metadata.name).metadata.annotations).toMatchObject({ other: 'writer' })
    expect(writes).toBe(2)
  })

  test.each([
    [30, true],
    [90, false],
  ])('a leader that comes %d s after the revision predicts it: %s', async (seconds, isPredicted) => {
    const revision = await started('1.1.0')
    fake.plant(controllerRevisionType, revision)
    await recorder.stop()
    await informers.stop()
    await clock.advance(seconds * 1_000)
    await lead()
    await recorder.check()
    expect(predictionOf(read(revision.metadata.name)) !== undefined).toBe(isPredicted)
  })

  test.each([
    [30, true],
    [90, false],
  ])('after a wait of %d s for a forecast of another cluster, predicts: %s', async (seconds, isPredicted) => {
    const revision = await started('1.1.0')
    const release = await turns.acquire()
    const done = predicted(revision)
    await clock.advance(seconds * 1_000)
    expect(predictionOf(read(revision.metadata.name))).toBeUndefined()
    release()
    expect((await done) !== undefined).toBe(isPredicted)
  })

  test('ends a forecast within a few turns when it must stop', async () => {
    const revision = await started('1.1.0')
    await import('./predict-rollout.ts')
    fake.plant(controllerRevisionType, revision)
    await clock.advance(1_000)
    let isOver = false
    const running = recorder.check().then(() => (isOver = true))
    await recorder.stop()
    // The forecast of these five machines takes more than a hundred.
    for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(true)
    await running
    expect(predictionOf(read(revision.metadata.name))).toBeUndefined()
  })
})
