// What agents report of the metadata services of their hosts: spot hosts that go within two minutes, one that the provider lists as well, a notice that is
// withdrawn, a recommendation for people, and a metadata service gone wrong that takes the hosts of nearly all machines for reclaimed.
import { machine as machineType } from '#api/kinds/machine.ts'
import { announced, say } from '#test/doubles/providers/maintenance-double.ts'
import type { World } from '../world.ts'
import { type DoctorStory, MASS_PREFIX, MINUTE, at, idOf, later, plantMachine, setReady, vanishes } from './story.ts'

const CLOUD = 'AWS'
/** What AWS leaves a spot host. */
const SPOT_MS = 2 * MINUTE
/** Until a user or a controller deletes the Machine and the Node of a deleted host. */
const REMOVED_MS = 10 * MINUTE
const MASS = 12
/** Agents ask each on their own: all reports are there within half a minute. */
const APART_MS = 2_000

const asks = (world: World, name: string): void =>
  void world.fake.poke(machineType, { name }, { spec: { notices: CLOUD } })

/** The whole list, as an agent writes it. */
function reports(world: World, name: string, items: readonly object[]): void {
  const known = world.fake.peek(machineType, { name }) as { readonly status?: object } | undefined
  if (known === undefined) return
  const status = { ...known.status, notices: { from: CLOUD, items } }
  world.fake.poke(machineType, { name }, { status }, 'status')
}

const reclaim = (world: World, id: string, inMs: number) => ({
  id,
  kind: 'Reclaim',
  state: 'Scheduled',
  dataLoss: true,
  notBefore: at(world, inMs),
})

/** The host serves until its end, and its agent says nothing more. */
function goesForGood(world: World, story: DoctorStory, name: string): void {
  later(world, story, SPOT_MS, () => setReady(world, name, false))
  later(world, story, SPOT_MS + REMOVED_MS, () => vanishes(world, name))
}

export function spotHosts(world: World, story: DoctorStory): void {
  for (const n of [0, 2, 3, 4]) {
    asks(world, `m-${n}`)
    reports(world, `m-${n}`, [])
  }
  reports(world, 'm-0', [reclaim(world, 'spot', SPOT_MS)])
  goesForGood(world, story, 'm-0')
  reports(world, 'm-2', [{ id: 'rebalance', kind: 'Notice', state: 'Scheduled' }])
  reports(world, 'm-3', [reclaim(world, 'its-spot-notice', SPOT_MS)])
  const listed = { providerID: idOf(3), kind: 'Reclaim', losesData: true, notBefore: at(world, SPOT_MS) } as const
  say(story.vendor, announced({ ...listed, eventId: 'reclaimed' }))
  goesForGood(world, story, 'm-3')
  later(world, story, SPOT_MS + REMOVED_MS, () => void story.vendor.events.splice(0))
  reports(world, 'm-4', [reclaim(world, 'withdrawn', 30 * MINUTE)])
  later(world, story, 15 * MINUTE, () => reports(world, 'm-4', []))
}

export function massReclaim(world: World, story: DoctorStory): void {
  for (let n = 0; n < MASS; n++) {
    const name = `${MASS_PREFIX}${n}`
    plantMachine(world, name)
    asks(world, name)
    reports(world, name, [])
    later(world, story, MINUTE + n * APART_MS, () => reports(world, name, [reclaim(world, `mass-${n}`, SPOT_MS)]))
    // They correct themselves one by one as well: those that still report it are not fewer hosts that are reclaimed.
    later(world, story, 15 * MINUTE + n * APART_MS, () => reports(world, name, []))
  }
}
