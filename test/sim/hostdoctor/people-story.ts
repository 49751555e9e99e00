// What people do to the work that they planned: it is deleted while its node is drained, made again under its name for another machine, and ended at last; and it
// is removed with its finalizer, as people do with objects that do not go away.
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { World } from '../world.ts'
import { type DoctorStory, HOUR, MINUTE, at, idOf, later } from './story.ts'

const NAME = 'people-sunday'
/** A drain that begins at once is under way by then; a fault may make it begin later. */
const DELETED_MS = 5 * MINUTE

const FORCED = 'people-forced'

function plans(world: World, n: number, name = NAME): void {
  world.fake.plant(maintenanceEvent, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MaintenanceEvent',
    metadata: { name },
    spec: {
      machine: `m-${n}`,
      host: { id: idOf(n) },
      source: 'People',
      eventId: `sunday-${n}`,
      kind: 'Stop',
      state: 'Scheduled',
      notAfter: at(world, 2 * HOUR),
      plannedBy: 'ada',
    },
  })
}

/** As soon as the event before it was deleted: a script of users tries until it works. */
function plansAgain(world: World, story: DoctorStory, n: number): void {
  if (world.fake.peek(maintenanceEvent, { name: NAME }) === undefined) plans(world, n)
  else later(world, story, MINUTE, () => plansAgain(world, story, n))
}

export function deletedAndMadeAgain(world: World, story: DoctorStory): void {
  plans(world, 0)
  later(world, story, DELETED_MS, () => {
    world.fake.uproot(maintenanceEvent, { name: NAME })
    plansAgain(world, story, 3)
  })
  later(world, story, HOUR, () => {
    if (world.fake.peek(maintenanceEvent, { name: NAME }) !== undefined)
      world.fake.poke(maintenanceEvent, { name: NAME }, { spec: { state: 'Executed', endedBy: 'ada' } })
  })
}

export function forcedAway(world: World, story: DoctorStory): void {
  plans(world, 0, FORCED)
  later(world, story, DELETED_MS, () => {
    world.fake.poke(maintenanceEvent, { name: FORCED }, { metadata: { finalizers: null } })
    world.fake.uproot(maintenanceEvent, { name: FORCED })
  })
}
