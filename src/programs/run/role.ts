// A role of `kubenode run`: its own leader election, caches, and loops that start once it leads.
import { hostname } from 'node:os'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import type { EventRecorder } from '#kube/events.ts'
import { programLeaseName, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ApiError } from '#kube/errors.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { runErrors } from './run-errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Logger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { followSignal } from '#lib/follow-signal.ts'
import { fencedClient } from '#runtime/fenced-client.ts'
import { Health } from '#runtime/health.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Informers } from '#runtime/informers.ts'
import type { LeaderTimes } from '#runtime/leader.ts'
import { LeaderElection } from '#runtime/leader.ts'
import { Manager } from '#runtime/manager.ts'
import type { Ended, Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import { type Right, RightsWatch, missingRight, rightText } from '#runtime/rights.ts'
import { supervise } from '#runtime/supervision.ts'
import type { Supervision } from '#runtime/supervision.ts'

/** Passed to a role once it leads. */
export interface RoleContext {
  /** Fenced: writes stop when the term ends. */
  readonly client: KubeClient
  /** Also fenced: acts as another user that this program may impersonate. */
  readonly clientAs: (user: string) => KubeClient
  /** For heartbeats and reads that must not queue behind other requests. */
  readonly plainClient: KubeClient
  readonly informers: Informers
  readonly clock: typeof systemClock
  readonly random: typeof systemRandom
  readonly log: Logger
  readonly metrics: RuntimeMetrics
  readonly supervision: Supervision
  readonly events: (name: string) => EventRecorder
}

/** Passed to a role on every replica, before it leads. Its client is not fenced, so a standby only writes by compare-and-swap. */
type StandingContext = Pick<RoleContext, 'client' | 'informers' | 'clock' | 'random' | 'log' | 'metrics'>

interface Standing {
  readonly parts: readonly Part[]
  /** Why this replica is not ready, or undefined. */
  readonly problem: () => string | undefined
}

/** The loops of a role, and annotations for its Lease. */
export interface RoleSetup {
  /** Set on its Lease while this process leads. */
  readonly leaseAnnotations?: Readonly<Record<string, string>>
  /** Runs on every replica, leader or not. */
  readonly standing?: (context: StandingContext) => Promise<Standing>
  /** Creates caches and loops without starting them. */
  setup(context: RoleContext): Promise<readonly Part[]> | readonly Part[]
}

export interface Role extends RoleSetup {
  readonly name: string
  /** Rights it needs to lead. */
  readonly needs?: readonly Right[]
  /** No leader: every replica does the full job. */
  readonly isEverywhere?: true
}

export interface RunRoleOptions {
  readonly client: KubeClient
  readonly clientAs?: (user: string) => KubeClient
  /** A separate connection for the lease. */
  readonly leaseClient: KubeClient
  readonly log: Logger
  /** The cluster's name, added to each series. */
  readonly cluster?: string
  /** Where this process answers probes and scrapers. */
  readonly listeners: (serves: Served) => readonly Part[]
  readonly leaderTimes?: LeaderTimes
  /** How often a leader checks that it still has its rights. */
  readonly rightsMs?: number
  readonly signal: AbortSignal
}

export interface Served {
  readonly client: KubeClient
  readonly health: Health
  readonly metrics: RuntimeMetrics
  readonly log: Logger
}

/** Keeps the server's message, which names the user and the right, and adds the identity that has it. */
const lacksRight = (role: string, cause: ApiError): KubeNodeError => mayNotRun(role, cause.serverMessage, cause)

const mayNotRun = (role: string, why: string, cause?: ApiError): KubeNodeError =>
  new KubeNodeError(runErrors.KN1307({ role, why, identity: programUser(role) }), { retry: 'later', cause })

function actingAs({ clientAs }: RunRoleOptions, user: string): KubeClient {
  if (clientAs === undefined) throw new Error(`no client acts as ${user}`)
  return clientAs(user)
}

/** Runs one role until the signal aborts or it loses leadership. */
export async function runRole(role: Role, options: RunRoleOptions): Promise<Ended> {
  const { client, leaseClient, leaderTimes, rightsMs } = options
  const ending = new AbortController()
  const unfollow = followSignal(ending, options.signal)
  const { signal } = ending
  let lost: KubeNodeError | undefined
  const log = options.log.with({ role: role.name })
  const clock = systemClock
  const random = systemRandom
  const metrics = createMetrics({ process: true, ...defined({ cluster: options.cluster }) })
  const health = new Health()
  const supervision = supervise({ clock, log, health, metrics })
  const instance = `${hostname()}-${process.pid}`
  const refused = Promise.withResolvers<never>()
  // possibly without a waiting caller
  refused.promise.catch(() => undefined)
  const lacks = (cause: ApiError): KubeNodeError => lacksRight(role.name, cause)
  const onRefused = (cause: ApiError): void => refused.reject(lacks(cause))
  const informers = createInformers({ client, clock, random, log, startSpreadMs: 0, onRefused })
  const standing = standingPart(role, { client, informers, clock, random, log, metrics }, refused.promise)
  let election: LeaderElection | undefined
  let isWorking = false
  let stoppedWithin: number | undefined

  const manager = new Manager({
    clock,
    log,
    http: options.listeners({ client, health, metrics, log }),
    caches: standing === undefined ? [] : [standing.part],
    ...(role.isEverywhere !== true && {
      election: supervision.election(
        (events) =>
          (election = new LeaderElection({
            client: leaseClient,
            clock,
            random,
            log,
            lease: { namespace: SYSTEM_NAMESPACE, name: programLeaseName(role.name) },
            identity: `${instance}-${random.below(2 ** 32).toString(36)}`,
            ...defined({ times: leaderTimes, annotations: role.leaseAnnotations }),
            ...events,
            onRefused: (cause) => log.error('not allowed to hold the lease', { error: lacks(cause) }),
          })),
      ),
    }),
    controllers: (leader) => [
      {
        name: role.name,
        start: async (begin) => {
          const fenced = fencedClient(client, leader)
          const parts = await role.setup({
            client: fenced,
            clientAs: (user) => fencedClient(actingAs(options, user), leader),
            plainClient: client,
            informers,
            clock,
            random,
            log,
            metrics,
            supervision,
            events: (name) =>
              createEventRecorder({ client: fenced, clock, controller: `kubenode.io/${name}`, instance }),
          })
          informers.start()
          // A leader without its role's rights releases the lease for a process that has them.
          const needs = role.needs ?? []
          const missing = await missingRight({ client, log, needs })
          if (missing !== undefined) throw mayNotRun(role.name, rightText(missing))
          await Promise.race([informers.synced(begin), refused.promise])
          if (stoppedWithin !== undefined) return
          const onMissing = (right: Right): void => {
            lost = mayNotRun(role.name, rightText(right))
            log.error('a required permission was revoked: releasing the lease', { error: lost })
            ending.abort(lost)
          }
          const every = rightsMs === undefined ? {} : { everyMs: rightsMs }
          const rights = new RightsWatch({ client, clock, log, needs, onMissing, ...every })
          rights.start()
          running.push(rights)
          for (const part of parts) {
            await part.start(begin)
            // Leadership may end meanwhile: what starts after the stop is not stopped by it.
            if (stoppedWithin !== undefined) {
              await part.stop(stoppedWithin)
              return
            }
            running.push(part)
          }
          isWorking = true
          log.info('role is running', { caches: informers.all().length, parts: parts.length })
        },
        stop: async (withinMs) => {
          stoppedWithin = withinMs
          for (const part of running.toReversed()) await part.stop(withinMs)
          // This replica's webhook still answers from the caches.
          if (standing === undefined) await informers.stop()
        },
      },
    ],
  })
  const running: Part[] = []
  health.readyWhen('role', readiness({ role, manager, election: () => election, standing, isWorking: () => isWorking }))
  try {
    const ended = await manager.run(signal)
    return lost === undefined ? ended : { ...ended, reason: 'RightLost', error: lost }
  } finally {
    unfollow()
  }
}

interface Ready {
  readonly role: Pick<Role, 'isEverywhere'>
  readonly manager: Pick<Manager, 'phase'>
  readonly election: () => LeaderElection | undefined
  readonly standing: { readonly problem: () => string | undefined } | undefined
  readonly isWorking: () => boolean
}

/** A standby is ready: it can take over and may already serve. What every replica serves does not wait for the leader's loops. */
function readiness({ role, manager, election, standing, isWorking }: Ready): () => string | undefined {
  let hasReadLease = role.isEverywhere === true
  return () => {
    const { phase } = manager
    if (phase === 'Draining' || phase === 'Ended') return 'shutting down'
    hasReadLease ||= election()?.holder() !== undefined
    if (!hasReadLease) return 'cannot read its lease yet'
    if (standing !== undefined) return standing.problem()
    if (phase === 'Leading' && !isWorking()) return 'taking over: its caches are not complete'
    return role.isEverywhere === true && phase !== 'Leading' ? 'not serving yet' : undefined
  }
}

/** One part for everything on standby, because its caches must be complete before it serves. */
function standingPart({ standing }: Role, context: StandingContext, refused: Promise<never>) {
  if (standing === undefined) return undefined
  let made: Standing | undefined
  const part: Part = {
    name: 'standing',
    start: async (signal) => {
      const { informers } = context
      made = await standing(context)
      informers.start()
      await Promise.race([informers.synced(signal), refused])
      for (const p of made.parts) await p.start(signal)
    },
    stop: async (withinMs) => {
      await Promise.all((made?.parts ?? []).map(async (p) => p.stop(withinMs)))
      await context.informers.stop()
    },
  }
  return { part, problem: () => (made === undefined ? 'starting' : made.problem()) }
}
