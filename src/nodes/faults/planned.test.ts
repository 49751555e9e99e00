import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, type MaintenanceEventInput, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { validate } from '#apiserver/schema/validate.ts'
import { maintenanceTable } from '#api/protocol/maintenance.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import {
  endText,
  isDrainedNow,
  machinesIn,
  phaseText,
  placesOf,
  plannedEvent,
  reasonOf,
  withVerb,
  recordOnce,
  spanOf,
  spanText,
} from './planned.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')

const by = { by: 'ada@example.org' }

const machine = (name: string, more: object = {}): Machine =>
  ({ metadata: { name, uid: `uid-${name}` }, spec: { rack: 'r1', zone: 'z1', ...more } }) as unknown as Machine

const kindOf = (word: string): string | undefined => ({ machine: 'Machine', node: 'Node', no: 'Node' })[word]

describe('what is planned for', () => {
  test.each([
    [['machine/m-1'], [{ kind: 'machine', name: 'm-1' }]],
    [['rack/r12'], [{ kind: 'rack', name: 'r12' }]],
    [['zone/eu-1a'], [{ kind: 'zone', name: 'eu-1a' }]],
    [['no/n-1'], [{ kind: 'node', name: 'n-1' }]],
    [
      ['machine', 'm-1', 'm-2'],
      [
        { kind: 'machine', name: 'm-1' },
        { kind: 'machine', name: 'm-2' },
      ],
    ],
    [['rack', 'r12'], [{ kind: 'rack', name: 'r12' }]],
  ])('%j', (words, places) => {
    expect(placesOf(words, kindOf)).toEqual(places)
  })

  test.each([['m-1'], ['machine'], ['machine/'], ['pool/a'], ['rack/a/b'], [''], ['/'], ['machine', 'rack/a']])(
    '%j names no place',
    (...words) => {
      expect(() => placesOf(words, kindOf)).toThrow(/KN1325/)
    },
  )

  test('a machine that is named twice, or by its rack too, is planned for once', () => {
    const all = [machine('a'), machine('b', { rack: 'r2' }), machine('c')]
    const found = machinesIn(placesOf(['rack/r1', 'machine/a', 'machine/b'], kindOf), all)
    expect(found.map((m) => m.metadata.name)).toEqual(['a', 'c', 'b'])
  })

  test('a node is found by what its machine says of it', () => {
    const all = [machine('a'), { ...machine('b'), status: { nodeRef: { name: 'ip-10-0-0-7', uid: 'u' } } } as Machine]
    expect(machinesIn(placesOf(['node/ip-10-0-0-7'], kindOf), all).map((m) => m.metadata.name)).toEqual(['b'])
  })

  test('a place without machines is refused, and so are more than 500', () => {
    expect(() => machinesIn(placesOf(['rack/r9'], kindOf), [machine('a')])).toThrow(/KN1313.*rack\/r9/)
    const many = Array.from({ length: 501 }, (_, n) => machine(`m-${n}`))
    expect(() => machinesIn(placesOf(['zone/z1'], kindOf), many)).toThrow(/KN1684.*501/)
  })
})

describe('when', () => {
  test.each([
    ['as soon as the node is drained, for two hours from now', { until: '2h' }, undefined, '2026-03-02T14:00:00Z'],
    [
      'from a time, for a duration',
      { from: '2026-03-08T02:00:00Z', until: '4h' },
      '2026-03-08T02:00:00Z',
      '2026-03-08T06:00:00Z',
    ],
    [
      'from one time to another',
      { from: '2026-03-08T02:00:00Z', until: '2026-03-08T03:30:00Z' },
      '2026-03-08T02:00:00Z',
      '2026-03-08T03:30:00Z',
    ],
    ['with an offset', { until: '2026-03-02T16:00:00+02:00' }, undefined, '2026-03-02T14:00:00Z'],
  ])('%s', (_, asked, from, until) => {
    expect(spanOf(asked, NOW)).toEqual({ ...defined({ from }), until })
  })

  test.each([
    ['a time that is none', { from: 'tomorrow', until: '2h' }, /KN1002.*--from/],
    ['an end that is none', { until: 'Sunday' }, /KN1002.*--until/],
    ['an end before the start', { from: '2026-03-08T02:00:00Z', until: '2026-03-08T01:00:00Z' }, /KN1002/],
    ['an end a year later', { until: '2027-03-02T14:00:00Z' }, /KN1002.*31 days/],
    ['a day that its month does not have', { from: '2026-04-31T02:00:00Z', until: '2h' }, /KN1002.*--from/],
    ['an end on such a day', { until: '2026-02-30T02:00:00Z' }, /KN1002.*--until/],
    ['a start that is over', { from: '2026-03-02T11:00:00Z', until: '2h' }, /KN1002.*leave out --from/],
    ['a start right now', { from: '2026-03-02T12:00:00Z', until: '2h' }, /KN1002/],
    ['an end in the past', { from: '2026-03-01T02:00:00Z', until: '1h' }, /KN1002/],
  ])('%s is refused', (_, asked, message) => {
    expect(() => spanOf(asked, NOW)).toThrow(message)
  })
})

test('what was understood is shown in UTC, and whether there is time to wait with the drain', () => {
  const changed = (asked: Parameters<typeof spanOf>[0]) => {
    const span = spanOf(asked, NOW)
    return `${spanText(span)}: ${isDrainedNow(span, NOW) ? 'now' : 'in time'}`
  }
  expect(changed({ until: '2h' })).toBe('from now until 2026-03-02T14:00:00Z: now')
  expect(changed({ from: '2026-03-02T22:30:00+08:00', until: '2h' })).toBe(
    'from 2026-03-02T14:30:00Z until 2026-03-02T16:30:00Z: in time',
  )
  expect(changed({ from: '2026-03-02T13:00:00Z', until: '2h' })).toBe(
    'from 2026-03-02T13:00:00Z until 2026-03-02T15:00:00Z: now',
  )
})

test.each(['', ' \n'])('the reason %j is none', (text) => {
  expect(() => reasonOf(text)).toThrow(/KN1002/)
})

test('a reason is one line, and one that does not fit is refused rather than cut', () => {
  expect(reasonOf(' a "new"\n\tdisk ')).toBe('a "new" disk')
  expect(reasonOf('x'.repeat(1_024))).toHaveLength(1_024)
  expect(() => reasonOf('x'.repeat(1_025))).toThrow(/KN1002.*1025.*1024/)
})

describe('the event', () => {
  const span = spanOf({ from: '2026-03-08T02:00:00Z', until: '2h' }, NOW)

  test('names no time when it begins with the end of the drain', () => {
    const event = plannedEvent(machine('a'), spanOf({ until: '2h' }, NOW), { ...by, reason: 'new disk' })
    expect(event.spec).not.toHaveProperty('notBefore')
    expect(validate(maintenanceEvent.schema, event)).toEqual([])
  })

  test('has another name when the first of its name is over', () => {
    const names = [0, 1, 2].map(
      (again) => plannedEvent(machine('a'), span, { ...by, reason: 'x' }, again).metadata?.name,
    )
    expect(new Set(names).size).toBe(3)
  })

  test('names host and place where the Machine has them, and is valid', () => {
    const event = plannedEvent(machine('a', { providerID: 'metal://a' }), span, { ...by, reason: 'new disk' })
    expect(event.spec).toMatchObject({
      machine: 'a',
      host: { id: 'metal://a', rack: 'r1', zone: 'z1' },
      source: 'People',
      kind: 'Stop',
      notBefore: span.from,
      notAfter: span.until,
      description: 'new disk',
      plannedBy: 'ada@example.org',
    })
    expect(validate(maintenanceEvent.schema, event)).toEqual([])
    expect(plannedEvent(machine('a'), span, { ...by, reason: 'x' }).spec.host).toBeUndefined()
  })

  test('has the same name for the same request, and another for another machine or time', () => {
    const name = (of: MaintenanceEventInput) => of.metadata?.name
    const first = plannedEvent(machine('a'), span, { ...by, reason: 'new disk' })
    expect(name(plannedEvent(machine('a'), span, { ...by, reason: 'other words' }))).toBe(name(first))
    expect(name(plannedEvent(machine('b'), span, { ...by, reason: 'new disk' }))).not.toBe(name(first))
    expect(name(plannedEvent(machine('a'), spanOf({ until: '3h' }, NOW), { ...by, reason: 'new disk' }))).not.toBe(
      name(first),
    )
  })
})

describe('what people report', () => {
  const event = (phase: string | undefined, spec: object = {}): MaintenanceEvent =>
    ({
      metadata: { name: 'people-1' },
      spec: { source: 'People', state: 'Scheduled', ...spec },
      ...(phase !== undefined && { status: { phase } }),
    }) as unknown as MaintenanceEvent

  test('done ends work at any time, cancel only before it began', () => {
    const answers = Object.keys(maintenanceTable.states).map((phase) => {
      const of = (verb: 'done' | 'cancel') => {
        try {
          return withVerb(event(phase), verb, 'ada')?.spec.state ?? 'over'
        } catch (e) {
          return /KN\d+/.exec(String(e))?.[0]
        }
      }
      return `${phase}: ${of('done')}, ${of('cancel')}`
    })
    expect(answers).toMatchInlineSnapshot(`
      [
        "Announced: Executed, Cancelled",
        "Preparing: Executed, Cancelled",
        "Prepared: Executed, Cancelled",
        "Missed: Executed, KN1685",
        "InProgress: Executed, KN1685",
        "Verifying: Executed, KN1685",
        "Done: over, over",
        "Failed: over, over",
        "Cancelled: over, over",
      ]
    `)
  })

  test('only a node that is being drained is said to be uncordoned', () => {
    expect(endText(event(undefined), 'cancel')).toBe('cancelled; nothing was drained for it')
    expect(endText(event('Announced'), 'done')).toBe('done; nothing was drained for it')
    expect(endText(event('Prepared'), 'cancel')).toBe('cancelled; the node is being uncordoned')
    expect(endText(event('InProgress'), 'done')).toBe('done; the node is uncordoned once the machine is well')
  })

  test('work that began on a node with pods is told from work that may begin', () => {
    const begun = (status: object) => phaseText({ ...event(undefined), status })
    expect(begun({ phase: 'InProgress', drainedAt: '2026-03-02T12:00:00Z' })).toBe('InProgress')
    expect(begun({ phase: 'InProgress', missedAt: '2026-03-02T12:00:00Z' })).toBe('InProgress, not drained')
    expect(begun({ phase: 'Verifying', missedAt: '2026-03-02T12:00:00Z' })).toBe('Verifying')
  })

  test('who ended it is kept, beside who planned it', () => {
    const planned = event('Prepared', { plannedBy: 'ada' })
    expect(withVerb(planned, 'cancel', 'bob')?.spec).toMatchObject({ plannedBy: 'ada', endedBy: 'bob' })
  })

  test('what a provider announced is not theirs to end', () => {
    expect(() => withVerb(event('InProgress', { source: 'cloud' }), 'done', 'ada')).toThrow(/KN1685.*cloud/)
  })

  test('what is reported already is not written again', () => {
    expect(withVerb(event('InProgress', { state: 'Executed' }), 'done', 'ada')).toBeUndefined()
  })
})

describe('the write that ends work', () => {
  const world = () => {
    const fake = new FakeKube({
      clock: new VirtualClock(),
      random: seededRandom(1),
      kinds: [{ type: maintenanceEvent, status: true }],
    })
    return { fake, found: plant(fake), client: fake.client({ actor: 'ada' }) }
  }
  const plant = (fake: FakeKube) => {
    const planned = plannedEvent(machine('a'), spanOf({ until: '2h' }, NOW), { ...by, reason: 'new disk' })
    return fake.plant(maintenanceEvent, { ...planned, metadata: { name: 'people-1' } }) as MaintenanceEvent
  }
  const done = (now: MaintenanceEvent) => withVerb(now, 'done', 'ada')

  test('is repeated when the host doctor wrote to the event meanwhile', async () => {
    const { fake, found, client } = world()
    fake.poke(maintenanceEvent, { name: 'people-1' }, { status: { phase: 'Prepared' } }, 'status')
    expect(await recordOnce(client, found, done)).toBe(true)
    expect(fake.peek(maintenanceEvent, { name: 'people-1' })).toMatchObject({
      spec: { state: 'Executed', endedBy: 'ada' },
    })
  })

  test('is not made twice, and not to another event of the name', async () => {
    const { fake, found, client } = world()
    expect(await recordOnce(client, found, done)).toBe(true)
    expect(await recordOnce(client, found, done)).toBe(false)
    fake.uproot(maintenanceEvent, { name: 'people-1' })
    plant(fake)
    await expect(recordOnce(client, found, done)).rejects.toThrow(/people-1/)
  })
})
