// What is wrong with a cluster as a whole: it does not answer, its programs are unavailable, parts of it are unknown or missing, or users hold something
// in it. Pure.
import type { HOLD_EFFECTS, OperationalHold } from '#api/kinds/operational-hold.ts'
import { shortWord } from '#api/nouns.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { endOfHold } from '#permits/holds/names.ts'
import { timestamp } from '#lib/clock.ts'
import { pluralOf } from '#lib/plural.ts'
import { someOf } from '#lib/some-of.ts'
import { effectOf, programWith, type StoppedProgram } from '../programs.ts'
import { bounded, commandStep, type FleetFinding, finding, objectIn, stampOf } from './finding.ts'
import type { ObservedCluster } from './observed.ts'

const PROGRAMS_RUNBOOK = 'docs/operations/three-in-the-morning.md'

export const connectionFindings = ({ name, state, message }: ObservedCluster): readonly FleetFinding[] =>
  state === 'Unreachable' || state === 'Refused'
    ? [
        finding(objectIn(name, 'Cluster', { name }), {
          weight: 'Act',
          urgency: 'Stopped',
          text: `cluster/${name} does not answer: ${message ?? state}`,
        }),
      ]
    : []

const awayText = ({ program, since }: StoppedProgram): string => {
  const what =
    since === undefined
      ? `${programWith(program, ['has', 'have'])} never run here`
      : `${programWith(program, ['is', 'are'])} away`
  return `${what}: ${effectOf(program)}`
}

export const programFindings = ({ name, stopped }: ObservedCluster): readonly FleetFinding[] =>
  stopped.map((one) =>
    finding(objectIn(name, 'Cluster', { name }), {
      weight: 'Act',
      urgency: 'Stopped',
      part: `program/${one.program}`,
      cause: `program/${one.program}`,
      text: awayText(one),
      since: one.since,
      first: commandStep('kubenode check'),
      runbook: PROGRAMS_RUNBOOK,
    }),
  )

/** Number of policies named in a finding. */
const MOST_POLICIES = 5

const HOW = { Missing: 'missing', Changed: 'changed since the installation' } as const

/** Until it is fixed, everything that the policies refuse is permitted. The Defender restores missing ones where it can. */
export const policyFindings = ({ name, list }: ObservedCluster): readonly FleetFinding[] => {
  const altered = list('ledgers')[0]?.spec.alteredPolicies ?? []
  return (['Missing', 'Changed'] as const).flatMap((how) => {
    const own = altered.filter((a) => a.how === how)
    const [first] = own.toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since))
    if (first === undefined) return []
    // A policy and its binding have the same name.
    const names = [...new Set(own.map((a) => a.name))]
    const are = names.length === 1 ? 'admission policy is' : 'admission policies are'
    return [
      finding(objectIn(name, 'Cluster', { name }), {
        weight: 'Act',
        urgency: 'Stopped',
        part: `policies/${how}`,
        cause: `policies/${how}`,
        count: names.length,
        text: `${names.length} ${are} ${HOW[how]} (${someOf(names, MOST_POLICIES)}): ${names.length === 1 ? 'what it refuses' : 'what they refuse'} is permitted`,
        since: first.since,
        first: commandStep('kubenode check'),
        runbook: PROGRAMS_RUNBOOK,
      }),
    ]
  })
}

export const gapFindings = ({ name, gap }: ObservedCluster): readonly FleetFinding[] =>
  gap === undefined
    ? []
    : [
        finding(objectIn(name, 'Cluster', { name }), {
          weight: 'Unknown',
          urgency: 'Waiting',
          part: 'gap',
          text: gap,
        }),
      ]

/** The unknown parts of a cluster. */
export interface Gap {
  /** Kinds that the reader may not read. */
  readonly hidden: readonly string[]
  /** Kinds that cannot be read now. */
  readonly failing: readonly string[]
  /** Kinds of which a past moment is unknown. */
  readonly unrecorded?: readonly string[]
}

export function gapText(cluster: string, { hidden, failing, unrecorded = [] }: Gap): string | undefined {
  const parts = [
    ...(hidden.length === 0 ? [] : [`not included: ${hidden.join(', ')}; you lack the right to read them`]),
    ...(failing.length === 0 ? [] : [`cannot be read now: ${failing.join(', ')}`]),
    ...(unrecorded.length === 0 ? [] : [`not recorded at that time: ${unrecorded.join(', ')}`]),
  ]
  return parts.length === 0 ? undefined : `cluster/${cluster} is known in part: ${parts.join('. ')}`
}

/** Effects that stop something; the others start something, or are one-time requests. */
const STOPPING: Readonly<Partial<Record<(typeof HOLD_EFFECTS)[number], string>>> = {
  Freeze: 'frozen',
  Pause: 'paused',
  Pin: 'pinned',
  Abort: 'aborted',
}

/** One finding for each hold in force, even if no object waits for it at the moment: the next one would. */
export function holdFindings(cluster: ObservedCluster, now: number): readonly FleetFinding[] {
  const found = cluster
    .list('holds')
    .map(readable)
    .flatMap((hold) => {
      const word = STOPPING[hold.spec.effect]
      if (word === undefined || !isInForce(hold, now)) return []
      const { author, reason, until } = hold.spec
      const end = stampOf(until)
      return [
        finding(objectIn(cluster.name, 'OperationalHold', hold.metadata), {
          cause: `${cluster.name}/operationalhold/${hold.metadata.name ?? ''}`,
          weight: 'Wait',
          urgency: 'Waiting',
          text: `${heldText(hold, cluster.name)} ${word} by ${author} until ${end === undefined ? until : timestamp(end)}: ${reason}`,
          since: hold.metadata.creationTimestamp,
          first: commandStep(endOfHold(hold)),
        }),
      ]
    })
  return bounded(found, 'holds')
}

function heldText({ spec: { target, effect } }: OperationalHold, cluster: string): string {
  const noun = shortWord(target.kind.toLowerCase())
  if (target.name !== undefined) return `${noun}/${target.name} is`
  const isAll = Object.keys(target.selector ?? {}).length === 0
  if (target.kind === 'Cluster' && effect !== 'Abort') return `cluster/${cluster} is`
  return `${isAll ? 'all' : 'selected'} ${pluralOf(noun)} are`
}
