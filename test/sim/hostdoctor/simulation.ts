// A day of a vendor: events that are announced for a whole rack while a rollout runs, moved, cancelled, missed, unplanned and reported by two sources; two host
// doctors that both believe to lead, and the real Defender. What must hold is checked at every write.
import { KINDS } from '#api/kinds.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { act } from '#controllers/hostdoctor/act.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import { type DoctorParts, hostDoctorOf } from '#controllers/hostdoctor/reconcile.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { announced, maintenanceProvider, say } from '#test/doubles/providers/maintenance-double.ts'
import { type DefenderParts, defender } from '../defender/world.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { Actor } from '../process.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'
import { doctorInvariants, isTwin, storyName } from './invariants.ts'
import { unpaidBills } from './bills-story.ts'
import { massReclaim, spotHosts } from './notices-story.ts'
import { deletedAndMadeAgain, forcedAway } from './people-story.ts'
import {
  type DoctorStory,
  HOUR,
  MINUTE,
  RACK_SIZE,
  at,
  comes,
  forbidEvictions,
  goes,
  idOf,
  later,
  newStory,
  plantFleet,
  resetStory,
  worker,
} from './story.ts'

const kinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  status: k.definition.status !== undefined,
}))

/** Of each worker in each phase. */
const TURNS = 6
/** With the lead of two hours the preparation starts after half an hour. */
const NOTICE_MS = 150 * MINUTE
/** Less than the lead: the preparation starts at once. */
const SHORT_MS = 40 * MINUTE

function doctor(name: string, story: DoctorStory, parts: () => DoctorParts): Actor {
  return {
    name,
    start: ({ client, cacheClient, clock, random, log }) => {
      const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 0 })
      const running = hostDoctorOf(parts()).setup({
        client,
        informers,
        clock,
        random,
        log,
        metrics: createMetrics(),
        events: { record: () => undefined, flush: async () => undefined },
        config: {
          cluster: 'sim',
          providers: {
            cloud: maintenanceProvider({ clock, name: 'cloud' }, story.vendor),
            other: maintenanceProvider({ clock, name: 'other' }, story.other),
          },
          join: {
            server: 'https://api',
            caData: 'Q0E=',
            artifactBase: 'file:///a/',
            trust: { sequence: 1, threshold: 1, keys: [] },
          },
        },
      })
      for (const part of [...running.controllers, ...(running.parts ?? [])])
        void part.start(new AbortController().signal)
      informers.start()
    },
  }
}

type Chapter = Pick<Phase, 'name'> & { readonly tell: (world: World, story: DoctorStory) => void }

const CHAPTERS: readonly Chapter[] = [
  {
    name: 'one event, one that is cancelled and one that vanishes',
    tell: (world, story) => {
      comes(world, story, 0, 'one', NOTICE_MS)
      later(world, story, 10 * MINUTE, () => story.vendor.hiddenOnce.add('one'))
      const event = comes(world, story, 3, 'cancelled', NOTICE_MS)
      later(world, story, HOUR, () => say(story.vendor, { ...event, state: 'Cancelled' }))
      comes(world, story, 1, 'vanished', NOTICE_MS)
      later(world, story, 20 * MINUTE, () => {
        const left = story.vendor.events.filter((e) => e.eventId !== 'vanished')
        story.vendor.events.splice(0, story.vendor.events.length, ...left)
      })
    },
  },
  {
    name: 'a whole rack while a rollout runs, and one that no drain can prepare',
    tell: (world, story) => {
      for (let n = 0; n < RACK_SIZE; n++) comes(world, story, n, `wave-${n}`, SHORT_MS + n * 10 * MINUTE)
      forbidEvictions(world, 4)
      comes(world, story, 4, 'missed', SHORT_MS)
    },
  },
  {
    name: 'one that is moved while its node is drained, one without notice, lists that fail, and one that two sources say',
    tell: (world, story) => {
      const event = comes(world, story, 3, 'moved', NOTICE_MS)
      later(world, story, HOUR, () => {
        const moved = { ...event, notBefore: at(world, 3 * HOUR) }
        say(story.vendor, moved)
        later(world, story, 3 * HOUR + 5 * MINUTE, () => goes(world, story, 3, moved))
      })
      story.vendor.failures = 2
      goes(world, story, 5, announced({ eventId: 'unplanned', providerID: idOf(5), isUnplanned: true }))
      const doubled = comes(world, story, 1, 'doubled', NOTICE_MS)
      story.vendor.events.push(doubled)
      say(story.other, { ...doubled, eventId: 'its-other-name', notBefore: at(world, NOTICE_MS + 4 * MINUTE) })
      later(world, story, NOTICE_MS + 10 * MINUTE, () => void story.other.events.splice(0))
    },
  },
  {
    name: 'agents report spot hosts that are reclaimed, one that its provider lists too, a notice that is withdrawn, and one for people',
    tell: spotHosts,
  },
  { name: 'the hosts of nearly all machines are reported as reclaimed', tell: massReclaim },
  {
    name: 'planned work is deleted while its node is drained, and made again under its name',
    tell: deletedAndMadeAgain,
  },
  { name: 'the bills of four hosts are not paid', tell: unpaidBills },
  { name: 'planned work is removed with its finalizer while its node is drained', tell: forcedAway },
]
/** The chapters of a vendor, and those of the notices of agents. */
const DAY = [0, 1, 2]
export const NOTICES = [3, 4]
export const PEOPLE_CHAPTER = [5]
export const BILLS_CHAPTER = [6]
export const FORCED_CHAPTER = [7]

/** Both host doctors were paused for as long as the event without notice lasted: they cannot know it. */
const neverListed = ({ vendor }: DoctorStory): readonly string[] =>
  vendor.events.some((e) => e.eventId === 'unplanned') && !vendor.listed.has('unplanned Executing')
    ? ['unplanned m-5 Done']
    : []

/**
 * A bill that its source listed to the last half hour, as far as any host doctor heard, and not after its time: paid late or carried out. Its node was never
 * drained, and both ends leave it alone.
 */
const endOf = ({ spec, status }: MaintenanceEvent): string | undefined =>
  spec.bill === true && status?.phase === 'Done' && status.drainedAt === undefined ? 'Cancelled' : status?.phase

const FAULTS: readonly FaultKind[] = ['Crash', 'Pause', 'LostReply', 'Refuse', 'Missed', 'Stale']

export interface Variant {
  readonly parts?: () => DoctorParts
  readonly defenderParts?: () => DefenderParts
  readonly faults?: readonly FaultKind[]
  /** The Defender has faults too; its own simulation has more of them. */
  readonly withFaultyDefender?: boolean
  /** Of a phase, timers too: three times what it takes, so that nothing asks the server without a pause. */
  readonly mostSteps?: number
  /** Numbers of the chapters of the story; the default is the day of a vendor. */
  readonly chapters?: readonly number[]
  /** The path of each event is a part of the state: drained or missed. A fault may turn the one into the other. */
  readonly withPaths?: boolean
  /** An event may end before a host doctor knows of it: then the state has open events only. */
  readonly openOnly?: boolean
  readonly faultyMs?: number
}

export function doctorSimulation({
  parts = () => ({ plan, act }),
  defenderParts,
  faults = FAULTS,
  chapters = DAY,
  withPaths = false,
  openOnly = false,
  faultyMs = 3 * HOUR,
  withFaultyDefender = false,
  mostSteps = 150_000,
}: Variant = {}): Simulation {
  const story = newStory()
  let invariants: Readonly<Record<string, Invariant>> = {}
  const pathOf = ({ status }: MaintenanceEvent): string =>
    `${status?.drainedAt === undefined ? '' : ' drained'}${status?.missedAt === undefined ? '' : ' missed'}`
  return {
    kinds,
    actors: () => {
      resetStory(story)
      invariants = doctorInvariants(undefined, story.vendor)
      return [
        { ...defender('defender', defenderParts), isFaulty: withFaultyDefender },
        doctor('doctor-a', story, parts),
        doctor('doctor-b', story, parts),
        worker('MachineComponentSet', 15 * MINUTE, story),
        worker('RemedyOperationJob', 17 * MINUTE, story),
      ]
    },
    phases: chapters.flatMap((n) => {
      const chapter = CHAPTERS[n]
      if (chapter === undefined) return []
      const phase: Phase = {
        name: chapter.name,
        act: (world) => {
          if (story.turns === 0) plantFleet(world)
          story.turns += TURNS
          chapter.tell(world, story)
        },
        counts: 'AtMost',
      }
      return [phase]
    }),
    invariants: {
      all: (commit, world) => {
        for (const [name, check] of Object.entries(invariants)) {
          const wrong = check(commit, world)
          if (wrong !== undefined) return `${name}: ${wrong}`
        }
        return undefined
      },
    },
    faults,
    faultyMs,
    settleMs: 6 * HOUR,
    quietMs: 20 * MINUTE,
    isPending: () => story.pending > 0,
    mostSteps,
    heartbeats: [
      `${leaseType.group}/${leaseType.plural}`,
      `${operationPermit.group}/${operationPermit.plural}`,
      `${defenderLedger.group}/${defenderLedger.plural}`,
      `${defenderPolicy.group}/${defenderPolicy.plural}`,
    ],
    // How many objects one event of two sources makes depends on whose list came first; what is done for them is in the state.
    counted: [],
    state: (world) => ({
      events: (world.fake.all(maintenanceEvent) as readonly MaintenanceEvent[])
        .filter((e) => !isTwin(e) || e.status?.phase !== 'Cancelled' || (withPaths && e.status.drainedAt !== undefined))
        .filter((e) => !openOnly || !isOver(e))
        .map((e) => `${storyName(e)} ${e.spec.machine} ${withPaths ? `${e.status?.phase}${pathOf(e)}` : endOf(e)}`)
        .concat(neverListed(story))
        .toSorted(),
      taints: (world.fake.all(nodeType) as readonly Node[])
        .filter((n) => (n.spec?.taints ?? []).length > 0)
        .map((n) => n.metadata.name),
      // Slots that are held for work that is over, or was deleted.
      held: (world.fake.all(operationPermit) as readonly OperationPermit[]).filter(
        (p) => p.spec.requester.kind === maintenanceEvent.kind && p.status?.phase === 'Granted',
      ).length,
    }),
  }
}
