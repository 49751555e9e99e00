// Whatever a user did to a control plane's record, the control plane never counts as missing.
import { beforeEach, expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import {
  beginRestore,
  namespaceLabels,
  planeNamespace,
  type PlaneRecord,
  PlaneRecords,
  sealsAll,
} from './plane-record.ts'
import { DEFAULT_SHAPE } from './plane-settings.ts'

const NAMESPACES = coreKind('Namespace')
const ID = 'fleet.a'
const form = { version: '1.36.2', emulates: 36 }
const RECORD: PlaneRecord = {
  id: ID,
  owner: 'uid-a',
  etcdToken: 'token',
  shape: DEFAULT_SHAPE,
  forms: { etcd: form, apiserver: form, 'controller-manager': form, scheduler: form },
  isStopped: false,
  snapshots: [],
  blocked: [],
  unready: {},
}

let fake: FakeKube
let records: PlaneRecords
beforeEach(() => {
  fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1) })
  records = new PlaneRecords(fake.client({ actor: 'cluster' }), 'kubenode-cluster')
})

const annotated = async (text: string | undefined): Promise<void> => {
  await records.create(RECORD, namespaceLabels(ID))
  const [found] = fake.all(NAMESPACES).filter(({ metadata }) => metadata.name === planeNamespace(ID))
  if (found === undefined) throw new Error('no namespace')
  const annotations = text === undefined ? {} : { [ANNOTATIONS.controlPlane]: text }
  await fake.client({ actor: 'person' }).update(NAMESPACES, { ...found, metadata: { ...found.metadata, annotations } })
}

test.each([
  ['deleted', undefined],
  ['empty', ''],
  ['cut off', JSON.stringify(RECORD).slice(0, 100)],
  ['without its snapshots', JSON.stringify({ ...RECORD, snapshots: undefined })],
  ['with text in place of its versions', JSON.stringify({ ...RECORD, forms: 'x' })],
])('a record that is %s stops everything, and the message has what to do', async (_, text) => {
  await annotated(text)
  await expect(records.read(ID)).rejects.toThrow(/namespace kc-fleet-a.*is missing or damaged; put it back/)
})

test('a namespace of another control plane, or of a person, is taken', async () => {
  const client = fake.client({ actor: 'person' })
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: planeNamespace(ID) } })
  expect(await records.read(ID)).toBe('Taken')
  await records.create({ ...RECORD, id: 'fleet-b.c' }, namespaceLabels('fleet-b.c'))
  expect(await records.read('fleet.b-c')).toBe('Taken')
})

test('a restore leaves nothing known of what seals the store, nor of a snapshot that was begun before', () => {
  const taking = { name: 'a', slot: 0, version: '1.36.2', sealedWith: 2 }
  const record = { ...RECORD, sealed: { all: { with: 2, restores: 0 } }, taking }
  expect(sealsAll(record)).toBe(2)
  const after = beginRestore(record, { snapshot: 'old', slot: 1, token: 't' })
  expect(sealsAll(after)).toBeUndefined()
  expect(after.taking).toEqual({ name: 'a', slot: 0, version: '1.36.2' })
})
