// A silent machine is restarted only while its neighbors are heard.
import type { Machine } from '#api/kinds/machine.ts'
import { agentLeaseName } from '#api/names.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { Heartbeats } from '../heartbeats/heartbeats.ts'
import { STEADY_MS, doubtOf, peersOf } from './peers.ts'

const machine = (name: string, zone: string, more: object = {}): Machine =>
  ({
    metadata: { name },
    spec: { zone, provider: { name: 'process' }, channel: 'Agent' },
    status: { nodeRef: { name }, ...more },
  }) as unknown as Machine

function world(all: readonly Machine[]) {
  const clock = new VirtualClock()
  const heartbeats = new Heartbeats(() => clock.monotonic())
  const beat = (names: readonly string[]) => {
    for (const name of names) heartbeats.note(agentLeaseName(name), `${name} ${clock.now()}`)
  }
  const pass = async (ms: number, names: readonly string[]) => {
    for (let at = 0; at < ms; at += 10_000) {
      beat(names)
      await clock.advance(10_000)
    }
  }
  const doubt = () => doubtOf(peersOf(all[0] as Machine, all, heartbeats))
  return { pass, doubt }
}

const FOUR = ['m-0', 'm-1', 'm-2', 'm-3']
const four = FOUR.map((name) => machine(name, 'a'))

test('its neighbors are heard: the machine hangs', async () => {
  const { pass, doubt } = world(four)
  await pass(300_000, FOUR)
  await pass(300_000, ['m-1', 'm-2'])
  expect(doubt()).toBeUndefined()
})

test('half of its neighbors or more are silent too: the network may be lost', async () => {
  const { pass, doubt } = world(four.slice(0, 3))
  await pass(300_000, FOUR)
  await pass(300_000, ['m-1'])
  expect(doubt()).toBe('1 of 2 other machines of the zone are silent too')
})

test('after an outage of the API server, neighbors must be heard for some time', async () => {
  const { pass, doubt } = world(four)
  await pass(300_000, FOUR)
  await pass(1_200_000, [])
  expect(doubt()).toBe('3 of 3 other machines of the zone are silent too')
  await pass(10_000, ['m-1', 'm-2', 'm-3'])
  expect(doubt()).toBe('heartbeats of the cluster have arrived without a gap for less than 2m')
  await pass(STEADY_MS, ['m-1', 'm-2', 'm-3'])
  expect(doubt()).toBeUndefined()
})

test('other zones, machines that reboot themselves and observed ones prove nothing', async () => {
  const reboots = { components: [{ name: 'beacon', rebootingSince: '2026-01-01T00:00:00Z' }] }
  const observed = { ...machine('m-4', 'a'), spec: { zone: 'a', channel: 'Observe' } } as unknown as Machine
  const all = [machine('m-0', 'a'), machine('m-1', 'b'), machine('m-2', 'a', reboots), observed, machine('m-3', 'a')]
  const { pass, doubt } = world(all)
  await pass(300_000, ['m-0', 'm-1', 'm-2', 'm-3', 'm-4'])
  await pass(300_000, ['m-3'])
  expect(doubt()).toBeUndefined()
  await pass(300_000, ['m-1'])
  expect(doubt()).toBe('1 of 1 other machines of the zone are silent too')
})

test('where it is alone in its zone, the cluster counts', async () => {
  const { pass, doubt } = world([machine('m-0', 'a'), machine('m-1', 'b'), machine('m-2', 'c')])
  await pass(300_000, ['m-0', 'm-1', 'm-2'])
  await pass(300_000, ['m-1', 'm-2'])
  expect(doubt()).toBeUndefined()
  await pass(300_000, [])
  expect(doubt()).toBe('2 of 2 other machines of the cluster are silent too')
})

test('a machine without any other is judged alone', async () => {
  const { pass, doubt } = world([machine('m-0', 'a')])
  await pass(60_000, ['m-0'])
  await pass(300_000, [])
  expect(doubt()).toBeUndefined()
})
