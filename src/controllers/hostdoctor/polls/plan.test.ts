import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, METADATA, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { HostMaintenance } from '#providers/port.ts'
import { validate } from '#apiserver/schema/validate.ts'
import { planPoll, twinOf, withPlace } from './plan.ts'

const announced = (more: Partial<HostMaintenance> = {}): HostMaintenance => ({
  eventId: 'x',
  providerID: 'cloud://m-1',
  kind: 'Reboot',
  state: 'Scheduled',
  isUnplanned: false,
  losesData: false,
  notBefore: '2026-03-03T12:00:00.000Z',
  answers: ['Start'],
  description: 'text',
  ...more,
})
const machine = { metadata: { name: 'm-1' }, spec: { providerID: 'cloud://m-1', rack: 'r1' } } as Machine
const machineOf = (id: string) => (id === 'cloud://m-1' ? machine : undefined)
const poll = (listed: readonly HostMaintenance[], known: readonly MaintenanceEvent[] = [], source = 'cloud') =>
  planPoll({ source, listed, machineOf, known })

const made = (listed = announced(), source = 'cloud', created = '2026-03-01T00:00:00Z'): MaintenanceEvent => {
  const [wanted] = poll([listed], [], source).create
  return {
    metadata: { name: wanted?.name, creationTimestamp: created },
    spec: wanted?.spec,
  } as unknown as MaintenanceEvent
}

describe('a list', () => {
  test('makes an object for each event and host, once, with what its source reports', () => {
    const { create } = poll([announced(), announced()])
    expect(create).toHaveLength(1)
    expect(create[0]?.spec).toMatchObject({
      machine: 'm-1',
      source: 'cloud',
      host: { id: 'cloud://m-1', rack: 'r1' },
      notBefore: '2026-03-03T12:00:00Z',
      initialNotBefore: '2026-03-03T12:00:00Z',
      answers: ['Start'],
    })
  })

  test('makes valid objects of the longest ids and places that a provider may name', () => {
    const long = 'x'.repeat(253)
    const [wanted] = poll([announced({ eventId: long, description: '😀'.repeat(1_024) })]).create
    const object = wanted && {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MaintenanceEvent',
      metadata: { name: wanted.name },
      spec: withPlace(wanted, { hostId: long, rack: long }).spec,
    }
    expect(validate(maintenanceEvent.schema, object)).toEqual([])
  })

  test.each([
    ['of a host that no machine has', { providerID: 'cloud://other' }],
    ['that was over before it was listed', { state: 'Executed' as const }],
  ])('makes nothing for an event %s', (_, more) => {
    expect(poll([announced(more)]).create).toEqual([])
  })

  test('that names other events each time makes 32 of a machine while they are open, and a reclaim all the same', () => {
    const list = (prefix: string) => [...Array(40).keys()].map((i) => announced({ eventId: `${prefix}-${i}` }))
    const first = poll(list('a'))
    expect([first.create.length, first.left]).toEqual([32, 8])
    const known = first.create.map(({ name, spec }) => ({ metadata: { name }, spec }) as unknown as MaintenanceEvent)
    const second = poll([...list('b'), announced({ eventId: 'end', kind: 'Reclaim' })], known)
    expect(second.create.map((w) => w.spec.eventId)).toEqual(['end'])
    expect(second.left).toBe(40)
    const over = known.map((e): MaintenanceEvent => ({ ...e, status: { phase: 'Done' } }))
    expect(poll(list('c'), over).create).toHaveLength(32)
  })

  test('that repeats itself changes nothing', () => {
    const known = made()
    const again = poll([announced()], [known])
    expect([again.create, again.update]).toEqual([[], []])
    expect(again.present).toEqual(new Set([known.metadata.name]))
  })

  test('that moves an event keeps the time that was announced first', () => {
    const [update] = poll([announced({ notBefore: '2026-03-09T12:00:00Z' })], [made()]).update
    expect(update?.spec).toMatchObject({
      notBefore: '2026-03-09T12:00:00Z',
      initialNotBefore: '2026-03-03T12:00:00Z',
    })
  })

  test('leaves an event alone that is over', () => {
    const over = { ...made(), status: { phase: 'Done' } } as MaintenanceEvent
    const again = poll([announced({ state: 'Executed' })], [over])
    expect([again.create, again.update]).toEqual([[], []])
  })
})

describe('two sources of one event', () => {
  test.each([
    ['the same id', { notBefore: '2026-05-01T00:00:00Z' }, true],
    ['the same kind within ten minutes', { eventId: 'y', notBefore: '2026-03-03T12:10:00Z' }, true],
    ['the same kind later', { eventId: 'y', notBefore: '2026-03-03T12:10:01Z' }, false],
    ['another kind', { eventId: 'y', kind: 'Stop' as const }, false],
  ])('%s: one object is %s', (_, more, isOne) => {
    const known = made()
    const { create, update } = poll([announced(more)], [known], 'other')
    expect([create.length, update.length]).toEqual([isOne ? 0 : 1, 0])
    const second = made(announced(more), 'other', '2026-03-01T00:00:01Z')
    expect(twinOf(second, [known, second])).toBe(isOne ? known.metadata.name : undefined)
    expect(twinOf(known, [known, second])).toBeUndefined()
  })

  test('what people plan is never taken for what a provider announced', () => {
    const planned = { ...made(), spec: { ...made().spec, source: 'People' } } as MaintenanceEvent
    expect(poll([announced()], [planned]).create).toHaveLength(1)
    expect(twinOf(made(announced(), 'cloud', '2026-03-02T00:00:00Z'), [planned])).toBeUndefined()
  })
})

test('the provider knows the place of a host better than its machine', () => {
  const [wanted] = poll([announced()]).create
  if (wanted === undefined) throw new Error('nothing was wanted')
  expect(withPlace(wanted, { hostId: 'h9', rack: 'r7' }).spec.host).toMatchObject({ hostId: 'h9', rack: 'r7' })
})

test('an event is the one of its own id, also while a cache shows the twin that another source reported as open', () => {
  const own = made(announced({ eventId: 'y' }), 'other')
  const twin = made(announced(), 'cloud')
  const { present } = poll([announced({ eventId: 'y' })], [twin, own], 'other')
  expect(present).toEqual(new Set([own.metadata.name]))
})

describe('a host that is taken back', () => {
  const reclaim = (more: Partial<HostMaintenance> = {}) =>
    announced({ kind: 'Reclaim', eventId: 'reclaim-1', notBefore: undefined as never, ...more })

  test.each(['cloud', METADATA, 'other'])('is one event, whatever %s calls it and whenever it ends', (source) => {
    const known = made(reclaim())
    const again = poll([reclaim({ eventId: 'spot-x', notBefore: '2026-03-03T12:02:00Z' })], [known], source)
    expect(again.create).toEqual([])
    expect(again.present).toEqual(new Set([known.metadata.name]))
  })

  test('is another event after the first one is over', () => {
    const known = { ...made(reclaim()), status: { phase: 'Done' } } as MaintenanceEvent
    expect(poll([reclaim({ eventId: 'spot-y' })], [known], METADATA).create).toHaveLength(1)
  })

  test('has one object that is acted upon, of two that were made at the same time', () => {
    const first = made(reclaim())
    const second = made(reclaim({ eventId: 'spot-x' }), METADATA, '2026-03-01T00:00:01Z')
    expect([twinOf(first, [first, second]), twinOf(second, [first, second])]).toEqual([undefined, first.metadata.name])
  })
})
