// The attacker may write MaintenanceEvents, as people do who plan work. A forged event of a provider would keep repairs away from a machine, and a forged end would
// give a node back that is being worked on.
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import {
  type Answer,
  type AttackWorld,
  type Attempt,
  type Who,
  tryOnServers,
} from '#test/support/worlds/attack-world.ts'

const EVENTS = '/apis/kubenode.io/v1alpha1/maintenanceevents'

const event = (name: string, source: string, plannedBy?: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: maintenanceEvent.kind,
  metadata: { name },
  spec: { machine: 'm-a', source, eventId: name, kind: 'Reboot', notBefore: '2030-01-01T00:00:00Z', plannedBy },
})

async function made({ ask }: AttackWorld, by: Who, name: string, source: string): Promise<void> {
  const { status, text } = await ask(by, 'POST', EVENTS, { body: event(name, source, by.user) })
  if (status !== 201 && status !== 409) throw new Error(`cannot prepare event ${name}: ${text}`)
}

/** Writes the event back with other values, as a program without the right to patch does. */
async function rewritten({ ask, who }: AttackWorld, by: Who, path: string, change: object): Promise<Answer> {
  const name = path.split(/[/?]/)[0] ?? ''
  const { text } = await ask(who.installer, 'GET', `${EVENTS}/${name}`)
  const read = JSON.parse(text) as { readonly spec: object }
  const body = 'status' in change ? { ...read, ...change } : { ...read, spec: { ...read.spec, ...change } }
  return ask(by, 'PUT', `${EVENTS}/${path}`, { body })
}

const OF_PEOPLE = /source People only/
const LIFE_CYCLE = /belongs to the host doctor/

const EVENTS_OF_PROVIDERS: readonly Attempt[] = [
  {
    name: 'a person announces work in the name of a provider',
    attempt: ({ ask, who }) => ask(who.installer, 'POST', EVENTS, { body: event('forged', 'cloud') }),
    control: ({ ask, who }) => ask(who.controllers, 'POST', `${EVENTS}?dryRun=All`, { body: event('forged', 'cloud') }),
    refused: OF_PEOPLE,
  },
  {
    name: 'a person says that the work of a provider is over',
    attempt: async (world) => {
      await made(world, world.who.controllers, 'of-cloud', 'cloud')
      return world.ask(world.who.installer, 'PATCH', `${EVENTS}/of-cloud`, { body: { spec: { state: 'Executed' } } })
    },
    control: (world) => rewritten(world, world.who.controllers, 'of-cloud?dryRun=All', { state: 'Executed' }),
    refused: OF_PEOPLE,
  },
  {
    name: 'a person takes over the event of a provider, to end it then',
    attempt: ({ ask, who }) =>
      ask(who.installer, 'PATCH', `${EVENTS}/of-cloud`, { body: { spec: { source: 'People' } } }),
    refused: OF_PEOPLE,
  },
  {
    name: 'a person gives an own event the name of a provider',
    attempt: async (world) => {
      await made(world, world.who.installer, 'own', 'People')
      return world.ask(world.who.installer, 'PATCH', `${EVENTS}/own`, { body: { spec: { source: 'cloud' } } })
    },
    control: ({ ask, who }) =>
      ask(who.installer, 'PATCH', `${EVENTS}/own?dryRun=All`, {
        body: { spec: { state: 'Cancelled', endedBy: who.installer.user } },
      }),
    refused: OF_PEOPLE,
  },
]

const SIGNED = /spec\.plannedBy/
const ENDED = /spec\.endedBy/

/** Work in the name of another user, and work without a name. */
const SIGNATURES: readonly Attempt[] = [
  ...(['eve', undefined] as const).map((by): Attempt => ({
    name: `a person plans work ${by === undefined ? 'without a name' : 'in the name of another'}`,
    attempt: ({ ask, who }) => ask(who.installer, 'POST', EVENTS, { body: event('signed', 'People', by) }),
    control: ({ ask, who }) =>
      ask(who.installer, 'POST', `${EVENTS}?dryRun=All`, { body: event('signed', 'People', who.installer.user) }),
    refused: SIGNED,
  })),
  {
    name: 'a person changes who planned work',
    attempt: async (world) => {
      await made(world, world.who.installer, 'own', 'People')
      return world.ask(world.who.installer, 'PATCH', `${EVENTS}/own`, { body: { spec: { plannedBy: 'eve' } } })
    },
    refused: SIGNED,
  },
  ...[{ state: 'Executed' }, { state: 'Executed', endedBy: 'eve' }, { endedBy: 'eve' }].map((spec): Attempt => ({
    name: `a person writes ${JSON.stringify(spec)} without signing it`,
    attempt: async (world) => {
      await made(world, world.who.installer, 'own', 'People')
      return world.ask(world.who.installer, 'PATCH', `${EVENTS}/own`, { body: { spec } })
    },
    control: ({ ask, who }) =>
      ask(who.installer, 'PATCH', `${EVENTS}/own?dryRun=All`, {
        body: { spec: { state: 'Executed', endedBy: who.installer.user } },
      }),
    refused: ENDED,
  })),
  {
    name: 'a person takes back the end of work, which would have its node drained again',
    attempt: async (world) => {
      const { ask, who } = world
      await made(world, who.installer, 'over', 'People')
      const end = { spec: { state: 'Executed', endedBy: who.installer.user } }
      await ask(who.installer, 'PATCH', `${EVENTS}/over`, { body: end })
      return ask(who.installer, 'PATCH', `${EVENTS}/over`, { body: { spec: { state: 'Scheduled' } } })
    },
    refused: ENDED,
  },
]

const LIFE_CYCLES: readonly Attempt[] = (['installer', 'sync', 'defender'] as const).map((identity) => ({
  name: `${identity} writes the life cycle of an event`,
  attempt: async (world) => {
    await made(world, world.who.controllers, 'of-cloud', 'cloud')
    return world.ask(world.who[identity], 'PATCH', `${EVENTS}/of-cloud/status`, { body: { status: { phase: 'Done' } } })
  },
  control: (world) =>
    rewritten(world, world.who.controllers, 'of-cloud/status?dryRun=All', { status: { phase: 'Preparing' } }),
  refused: identity === 'installer' ? LIFE_CYCLE : 403,
}))

const AGENTS: readonly Attempt[] = (['agentA', 'tenant', 'anybody'] as const).map((identity) => ({
  name: `${identity} plans work, which would keep repairs away`,
  attempt: ({ ask, who }) =>
    ask(who[identity], 'POST', EVENTS, { body: event(`by-${identity.toLowerCase()}`, 'People') }),
  refused: 403,
}))

tryOnServers('events about work on hosts', [...EVENTS_OF_PROVIDERS, ...SIGNATURES, ...LIFE_CYCLES, ...AGENTS])
