import { describe, expect, it } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { createEventRecorder, type NewEvent } from './events.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FaultPort } from '#test/doubles/kube/faults.ts'

const EVENT: ResourceType = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
const created = (note = 'switched kubelet to 1.33.2'): NewEvent => ({
  type: 'Normal',
  reason: 'Switched',
  action: 'Switch',
  note,
})
const machine = (name: string): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name, uid: `uid-${name}` },
})

function bench(faults: FaultPort = {}) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), faults })
  const lost: string[] = []
  const recorder = createEventRecorder({
    client: fake.client({ actor: 'a' }),
    clock,
    controller: 'kubenode.io/machine',
    instance: 'pod-1',
    lost: (why) => lost.push(why),
  })
  return { clock, fake, lost, recorder }
}

describe('events', () => {
  it('a repeated one is one object with a count', async () => {
    const { fake, recorder, lost } = bench()
    for (let i = 0; i < 5; i++) {
      recorder.record(machine('m1'), created())
      await recorder.flush()
    }
    const [event, ...more] = fake.all(EVENT)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      note: 'switched kubelet to 1.33.2',
      reportingController: 'kubenode.io/machine',
      regarding: { kind: 'Machine', name: 'm1', uid: 'uid-m1' },
      series: { count: 5 },
    })
    expect(event?.metadata.namespace).toBe('default')
    expect(lost).toEqual([])
  })

  it('a noisy object is throttled and does not silence the others', async () => {
    const { fake, recorder, lost, clock } = bench()
    for (let i = 0; i < 100; i++) recorder.record(machine('noisy'), created(`note ${i}`))
    recorder.record(machine('calm'), created())
    await recorder.flush()
    expect(fake.all(EVENT)).toHaveLength(26)
    expect(lost).toHaveLength(75)
    await clock.advance(600_000)
    for (let i = 0; i < 5; i++) recorder.record(machine('noisy'), created(`later ${i}`))
    await recorder.flush()
    expect(fake.all(EVENT)).toHaveLength(28)
  })

  it('a server that refuses loses events and nothing else', async () => {
    const { recorder, lost } = bench({ call: () => ({ kind: 'refuse', when: 'before', code: 500 }) })
    recorder.record(machine('m1'), created())
    await recorder.flush()
    expect(lost).toEqual(['failed'])
  })

  it('one that the server forgot is written again with its count', async () => {
    const { fake, recorder } = bench()
    recorder.record(machine('m1'), created())
    await recorder.flush()
    const name = fake.all(EVENT)[0]?.metadata.name ?? ''
    fake.uproot(EVENT, { name })
    recorder.record(machine('m1'), created())
    await recorder.flush()
    expect(fake.all(EVENT)[0]).toMatchObject({ series: { count: 2 } })
  })

  it('one that comes faster than the server answers is written once, with its count', async () => {
    const { fake, recorder } = bench()
    recorder.record(machine('calm'), created())
    await recorder.flush()
    const before = fake.all(EVENT)[0]?.metadata.resourceVersion
    for (let i = 0; i < 5; i++) recorder.record(machine('m1'), created())
    await recorder.flush()
    const [written, ...more] = fake.all(EVENT).filter((e) => e.metadata.name?.startsWith('m1.') === true)
    expect([written?.['series'], more]).toEqual([expect.objectContaining({ count: 5 }), []])
    expect(Number(written?.metadata.resourceVersion)).toBe(Number(before) + 1)
  })

  it('one that comes again after the series has ended begins another', async () => {
    const { fake, recorder, clock } = bench()
    recorder.record(machine('m1'), created())
    await recorder.flush()
    await clock.advance(360_000)
    recorder.record(machine('m1'), created())
    await recorder.flush()
    expect(fake.all(EVENT).map((e) => e['series'])).toEqual([undefined, undefined])
  })

  it.each([
    ['letters of one byte', 'x'.repeat(2_000), 'x'.repeat(1_024)],
    ['letters of three bytes', '’'.repeat(1_000), '’'.repeat(341)],
    ['letters of four bytes', `x${'😀'.repeat(1_000)}`, `x${'😀'.repeat(255)}`],
    ['a note that just fits', '’'.repeat(341), '’'.repeat(341)],
  ])('a note is cut to the bytes that a server takes, between two letters: %s', async (_name, note, want) => {
    const { fake, recorder } = bench()
    recorder.record(machine('m1'), created(note))
    await recorder.flush()
    expect(fake.all(EVENT)[0]?.['note']).toBe(want)
  })

  it('the name of an event about a very long name is still a name', async () => {
    const { fake, recorder } = bench()
    recorder.record(machine(`${'a'.repeat(219)}-${'b'.repeat(20)}`), created())
    await recorder.flush()
    expect(fake.all(EVENT)[0]?.metadata.name).toMatch(/^a{219}\.[0-9a-f]{16}$/)
  })
})
