// The status of a canary: its phase, its marks, and the state of each machine. Pure; equal inputs give equal statuses.
import { waitingSince } from '#runtime/waiting.ts'
import type { CanaryPhase } from '#api/protocol/canary.ts'
import { timestamp } from '#lib/clock.ts'
import { setConditions } from '#kube/conditions.ts'
import { counted } from '#lib/counted.ts'
import { MARKING, REASON_OF, type Trial, type Wait, failedMachines } from './trials/trial.ts'
import type { Seen, Status } from './seen.ts'
import { defined } from '#lib/defined.ts'

const MOST_RESULTS = 200
const MOST_PERMITS = 16
const MOST_MESSAGE = 200

export interface Progress {
  readonly phase: CanaryPhase
  readonly machines: readonly string[]
  readonly trials: readonly Trial[]
  readonly observeUntil: string | undefined
  readonly promotedBy: string | undefined
  /** Permits requested recently. */
  readonly asked: readonly string[]
  readonly wait: Wait | undefined
  readonly isPaused: boolean
  readonly now: number
}

const isOver = (phase: CanaryPhase): boolean => phase !== 'Pending' && !MARKING.has(phase)

type Result = NonNullable<Status['results']>[number]

export function statusOf({ canary, permits }: Seen, progress: Progress): Status {
  const { phase, machines, trials, observeUntil, promotedBy, wait, now } = progress
  const before = canary.status
  // When the canary is over, its machines return to their sets. Later reports are not results of the canary.
  const kept = isOver(phase) && before?.phase === phase ? before : undefined
  const healthy = machines.filter((name) => {
    const own = trials.filter((t) => t.machine.metadata.name === name)
    return own.length > 0 && own.every((t) => t.standing === 'Healthy')
  })
  const open = permits.filter((p) => ['Requested', 'Granted'].includes(p.status?.phase ?? 'Requested'))
  const names = [...new Set([...open.map((p) => p.metadata.name ?? ''), ...progress.asked])].toSorted()
  const { generation } = canary.metadata
  return {
    ...defined({ observedGeneration: generation }),
    phase,
    machines,
    results: kept?.results ?? trials.slice(0, MOST_RESULTS).map((t) => resultOf(t, before, now)),
    counts: kept?.counts ?? { total: machines.length, healthy: healthy.length, failed: failedMachines(trials).size },
    permits: names.slice(0, MOST_PERMITS),
    ...defined({ observeUntil, promotedBy }),
    ...(wait !== undefined && {
      waitingFor: waitingSince(before?.waitingFor, wait, now),
    }),
    conditions: conditionsOf(before, progress, generation),
  }
}

function resultOf({ machine, wanted, standing }: Trial, before: Status | undefined, now: number): Result {
  const name = machine.metadata.name ?? ''
  const report = machine.status?.components?.find((c) => c.name === wanted.name)
  const known = before?.results?.find((r) => r.machine === name && r.component === wanted.name)?.healthySince
  return {
    machine: name,
    component: wanted.name,
    state: report?.state ?? 'Fetching',
    ...(standing === 'Healthy' && { healthySince: known ?? timestamp(now) }),
    ...defined({ reason: report?.reason, message: report?.message }),
  }
}

/** The first machine that failed, with its agent's report: the probe and its answer, or the exit code. */
function failureOf(trials: readonly Trial[]): string | undefined {
  const failed = trials.filter((t) => t.standing === 'Failed')
  const [first] = failed
  if (first === undefined) return undefined
  const { machine, wanted } = first
  const { state, reason, message } = machine.status?.components?.find((c) => c.name === wanted.name) ?? {}
  const why = [reason ?? state, message].filter((w) => w !== undefined).join(': ')
  const count = failedMachines(trials).size
  const more = count === 1 ? '' : ` (and ${counted(count - 1, 'other machine')})`
  return (
    `${machine.metadata.name}: ${wanted.name} ${wanted.version}: ${why}`.slice(0, MOST_MESSAGE - more.length) + more
  )
}

/** Only a person can fix these. */
const STALLING: ReadonlySet<Wait['predicate']> = new Set([
  'ComponentMissing',
  'InvalidSpec',
  'RequirementUnmet',
  'SkewRefused',
])

function conditionsOf(
  before: Status | undefined,
  { phase, trials, wait, isPaused, now }: Progress,
  generation: number | undefined,
): NonNullable<Status['conditions']> {
  const isReady = phase === 'Passed' || phase === 'Promoted'
  const isStalled = phase === 'Failed' || (wait !== undefined && STALLING.has(wait.predicate))
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const known = before?.conditions?.find((c) => c.type === 'Stalled' && c.reason === 'CanaryFailed')?.message
  const failure = phase === 'Failed' ? (known ?? failureOf(trials)) : undefined
  const message = failure ?? wait?.seen ?? `the canary is ${phase}`
  const reason = REASON_OF[phase]
  const is = (b: boolean) => (b ? ('True' as const) : ('False' as const))
  const wanted = [
    { type: 'Ready', status: is(isReady), reason, message },
    { type: 'Reconciling', status: is(MARKING.has(phase) && phase !== 'Passed'), reason, message },
    {
      type: 'Stalled',
      status: is(isStalled),
      reason: isStalled ? (wait?.predicate ?? reason) : 'AsDeclared',
      message: isStalled ? message : 'no manual intervention needed',
    },
    {
      type: 'Paused',
      status: is(isPaused),
      reason: isPaused ? 'HoldPause' : 'AsDeclared',
      message: isPaused ? 'a hold pauses the canary; it continues when the hold ends' : 'no hold pauses the canary',
    },
  ]
  return setConditions(
    before?.conditions,
    wanted.map((c) => ({ ...c, ...observed })),
    now,
  )
}
