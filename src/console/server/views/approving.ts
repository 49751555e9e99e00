// What an approval would allow, how risky it is, who gave one, and who is still missing. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { shortWord } from '#api/nouns.ts'
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import { disruptionFacts } from '#api/protocol/operations.ts'
import { stagePart } from '#api/protocol/part.ts'
import { createdAt } from '#api/schema/object-meta.ts'
import { ANY_APPROVER } from '#defender/approvals.ts'
import { riskOf } from '#defender/risk.ts'
import { otherGates, otherVerdicts, stageLine } from '#explain/approval-lines.ts'
import type { ApprovalRequest } from '#explain/approval-requests.ts'
import type { Asker } from '#explain/approvers.ts'
import type { Approved } from '#explain/approvers-asked.ts'
import type { Person } from '#kube/current-person.ts'
import { deletionText } from '#explain/release/status.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import { assertNever } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { chainOf } from '#sync/release/chain.ts'
import { ANYONE, isFrom, namesOf, timeoutOf } from '#sync/release/gates.ts'
import { approvalsFor } from '#sync/release/release-approvers.ts'
import { gateAbout, isOfRiskGate } from '#sync/release/risk.ts'
import { DIGEST_OF_LEAVING, targetsDigest } from '#sync/release/tracks.ts'
import type { ApprovalEffect, ApprovingAnswer, AskedApprovals, GivenApproval } from '../../approving.ts'
import type { MachineRow } from '../machine-row.ts'
import { operationsText, operationWords } from '../../operation-words.ts'
import { at, pageText, stamp } from './parts.ts'
import { changedClusters } from './plan-record.ts'

/** A dialog with more is not read. A permit has at most 100 targets. */
const MOST_ON = 100
const MOST_GIVEN = 20
const MOST_LINES = 20

export interface Approving {
  readonly object: Approved
  /** The requested approval with the digest that the user chose. */
  readonly request: ApprovalRequest
  /** Undefined: the user may not list them. */
  readonly approvals: readonly Approval[] | undefined
  /** A text: why they are unknown. */
  readonly askers: readonly Asker[] | string
  readonly person: Person | undefined
  /** Releases on the hub. */
  readonly releases: readonly Release[]
  readonly pipeline: ReleasePipeline | undefined
  /** Clusters on the hub that the user may read. */
  readonly clusters: readonly Cluster[]
  /** Undefined: unknown, or the user may not read machines. */
  readonly machine: (name: string) => MachineRow | undefined
  readonly now: number
}

export function approvingAnswer(asked: Approving): ApprovingAnswer {
  const valid = validFor(asked)
  const given = asked.approvals === undefined ? undefined : givenApprovals(asked, valid)
  return {
    ...contentOf(asked),
    ...defined({ commit: commitOf(asked) }),
    ...(given !== undefined && { given: given.slice(-MOST_GIVEN) }),
    moreGiven: Math.max(0, (given?.length ?? 0) - MOST_GIVEN),
    asks: asksOf(asked, valid),
  }
}

/** Undefined: nothing that git has asks for it. */
function commitOf({ object, request }: Approving): string | undefined {
  switch (object.kind) {
    case 'OperationPermit':
    case 'Release':
      return object.spec.commit
    case 'FleetSource':
      return request.digest === object.status?.refused?.digest ? object.status?.refused?.commit : undefined
    default:
      return assertNever(object)
  }
}

type Content = Pick<ApprovingAnswer, 'effects' | 'waits' | 'risk' | 'scope'>

function contentOf(asked: Approving): Content {
  const { object, request } = asked
  switch (object.kind) {
    case 'OperationPermit':
      return permitContent(object, asked)
    case 'Release':
      return request.digest === targetsDigest(object) ? releaseContent(object, asked) : deletions(asked)
    case 'FleetSource':
      return request.digest === object.status?.refused?.digest ? commitContent(asked) : deletions(asked)
    default:
      return assertNever(object)
  }
}

// ---------------------------------------------------------------- permits

function permitContent(permit: OperationPermit, asked: Approving): Content {
  const { operations, component, targets, requester, reason, commit, recovery } = permit.spec
  const what = component === undefined ? '' : ` (${component.name}${versionText(component)})`
  const kinds = [...new Set(targets.map(({ kind }) => kind.toLowerCase()))]
  const [kind = 'target'] = kinds.length === 1 ? kinds : []
  const effect = {
    text: `${capitalized(operationsText(operations))}${what} on ${counted(targets.length, kind)}`,
    on: targets.map((t) => targetText(t, asked.machine)),
  }
  const { kind: by, name: of = '' } = requester
  const asker = by === undefined ? of : shortWord(`${by.toLowerCase()}/${of}`)
  const part = requester.part === undefined ? '' : `, ${requester.part}`
  return {
    effects: [
      effectOf(effect),
      effectOf({ text: `Requested by ${asker === '' ? requester.manager : asker}${part}: ${reason}` }),
      ...(commit === undefined
        ? []
        : [effectOf({ text: `Required by commit ${titledCommit(commit, asked.releases)}` })]),
      ...(recovery ? [effectOf({ text: 'The requester reports a return to the last healthy revision' })] : []),
    ],
    waits: lines(otherVerdicts(permit)),
    risk: { level: riskOf(operations), why: lines(operations.map((o) => operationText(o, kind))) },
    scope:
      'Covers these operations on exactly these targets for this commit. A request with another target, operation or commit needs another approval.',
  }
}

const versionText = ({ version, config }: NonNullable<OperationPermit['spec']['component']>): string =>
  version === undefined ? (config === undefined ? '' : `, configuration ${config}`) : ` ${version}`

/** A machine that was replaced since has the name, and another UID. */
function targetText(
  { kind, name, namespace, uid }: OperationPermit['spec']['targets'][number],
  machine: Approving['machine'],
): string {
  if (kind !== 'Machine') return [namespace, name].filter((t) => t !== undefined).join('/')
  const row = machine(name)
  if (row === undefined) return name
  if (row.metadata.uid !== uid) return `${name}: replaced since; the permit is for an earlier machine`
  const { zone, rack, pool } = row.place
  const where = Object.entries({ zone, rack, pool }).flatMap(([key, value]) =>
    value === '' ? [] : [`${key} ${value}`],
  )
  return [name, ...where, ...(row.state.isReady ? [] : ['not Ready'])].join(', ')
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

function operationText(operation: string, kind: string): string {
  const { risk, deletesTarget, takesAvailability } = disruptionFacts(operation)
  const does = deletesTarget
    ? `deletes the ${kind}`
    : takesAvailability
      ? `the ${kind} may stop serving meanwhile`
      : `the ${kind} keeps serving`
  return `${capitalized(operationWords(operation))}: ${risk.toLowerCase()} risk, ${does}`
}

// ---------------------------------------------------------------- releases

function releaseContent(release: Release, asked: Approving): Content {
  const { spec, status = {} } = release
  const previous = asked.releases.find(({ metadata }) => metadata.name === spec.previous)
  const changed = changedClusters(release, previous)
  const isChanged = (cluster: string): boolean => changed?.includes(cluster) ?? true
  const places = status.clusters ?? []
  const stages = (status.stages ?? []).filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Skipped')
  const staged = new Set(places.map(({ name }) => name))
  const others = [...new Set([...Object.keys(spec.digests), ...(changed ?? [])])].filter((name) => !staged.has(name))
  const effects = stages.map((stage) => {
    const own = places.filter((p) => p.stage === stage.name && p.phase !== 'Unchanged' && isChanged(p.name))
    const declared = asked.pipeline?.spec.stages.find((s) => s.name === stage.name)
    return {
      text: stageLine(stage, own.length, declared),
      on: own.map((p) => clusterText(p.name, release, asked, p.phase)),
    }
  })
  const rest = others.filter((name) => isChanged(name))
  return {
    effects: [
      effectOf({
        text: `${spec.revertOf === undefined ? 'Commit' : `Revert of ${titledCommit(spec.revertOf, asked.releases)}, commit`} ${commitText(spec.commit, spec)} of track ${spec.track}`,
      }),
      ...effects.map(effectOf),
      ...(rest.length === 0
        ? []
        : [
            effectOf({
              text: `${counted(rest.length, 'cluster')} without a stage yet`,
              on: rest.map((name) => clusterText(name, release, asked)),
            }),
          ]),
      ...places.flatMap(({ name, prune }) =>
        prune === undefined ? [] : [effectOf({ text: pageText(deletionText(name, prune)) })],
      ),
      ...(changed === undefined
        ? [effectOf({ text: 'The previous release is not kept, so clusters without a change may be listed' })]
        : []),
      ...(spec.after === undefined
        ? []
        : [effectOf({ text: `The commit before it is ${titledCommit(spec.after, asked.releases)}` })]),
    ],
    waits: lines(otherGates(stages)),
    risk: releaseRisk(release, changed),
    scope:
      'Covers everything that this release applies, in all its stages. It counts for each gate below; another commit with other content needs another approval.',
  }
}

function clusterText(name: string, { spec }: Release, { clusters }: Approving, phase?: string): string {
  const what = name === HUB_TARGET ? 'the hub itself' : name
  const total = clusters.find(({ metadata }) => metadata.name === name)?.status?.machines?.total
  const machines =
    name === HUB_TARGET ? [] : [total === undefined ? 'number of machines unknown' : counted(total, 'machine')]
  const isLeaving = !(name in spec.digests) || spec.digests[name] === DIGEST_OF_LEAVING
  return [
    what,
    ...machines,
    ...(isLeaving ? ['removed by the commit'] : []),
    ...(phase === undefined ? [] : [phase]),
  ].join(', ')
}

const APPROVED_BY = /(?:^|: )approved by \d+ of \d+ \(/

/** Sync rates changes of control planes, moves and deletions of clusters; nothing rates the rest of a commit. */
function releaseRisk({ spec, status }: Release, changed: readonly string[] | undefined): Content['risk'] {
  const gates = (status?.stages ?? []).flatMap(({ gates = [] }) => gates)
  const risky = gates.filter(({ name, seen = '' }) => isOfRiskGate(name, seen))
  const about = risky.map(({ seen = '' }) => seen.split(APPROVED_BY)[0] ?? '').filter((t) => t !== '')
  const leaving = (changed ?? []).filter((c) => spec.digests[c] === DIGEST_OF_LEAVING)
  const failures = (status?.clusters ?? []).filter(({ failures }) => (failures?.new ?? 0) > 0)
  const isHigh = risky.length > 0 || leaving.length > 0
  return {
    ...(isHigh && { level: 'High' }),
    why: lines([
      ...about,
      ...leaving.map((c) => `deletion of cluster ${c}`),
      ...(isHigh
        ? []
        : ['sync reported no change of a control plane and no deletion of a cluster; the rest is not rated']),
      ...failures.map(({ name, failures }) => `${counted(failures?.new ?? 0, 'new failure')} in cluster ${name}`),
    ]),
  }
}

// ---------------------------------------------------------------- deletions and commits

const deletions = ({ request: { text = '' } }: Approving): Content => ({
  effects: [effectOf({ text })],
  waits: [],
  risk: {
    level: disruptionFacts('MassPrune').risk,
    why: ['more would be deleted than the guard allows without an approval, and git revert does not bring back data'],
  },
  scope:
    'Covers exactly these deletions, and nothing else of the commit. With one more or one less, it does not count.',
})

const commitContent = ({ request: { text = '' } }: Approving): Content => ({
  effects: [effectOf({ text })],
  waits: [],
  risk: { why: ['sync refused the commit, and nothing rated what is in it'] },
  scope: 'Covers this commit and the ones before it that sync has not followed yet.',
})

// ---------------------------------------------------------------- people

/** Of this content, and not expired. One without a digest of the release counts for its deletions. */
function validFor({ object, request, approvals = [], releases, now }: Approving): readonly Approval[] {
  const own = ofContent(object, request.digest, approvals, releases)
  return own.filter(({ spec: { until } }) => until === undefined || Date.parse(until) > now)
}

function ofContent(
  object: Approved,
  digest: string,
  approvals: readonly Approval[],
  releases: readonly Release[],
): readonly Approval[] {
  if (object.kind !== 'Release' || digest !== targetsDigest(object))
    return approvals.filter(({ spec }) => spec.digest === digest)
  // The same content may have been replaced since and have returned: earlier Approvals do not count again.
  return approvalsFor({ approvals, chain: chainOf(releases, object.spec), release: object })
}

const asPerson = ({ spec: { by, groups = [] } }: Approval) => ({ by, groups })

function givenApprovals(asked: Approving, valid: readonly Approval[]): readonly GivenApproval[] {
  const { object, request, approvals = [], releases, askers } = asked
  const froms = typeof askers === 'string' ? [] : askers.flatMap(({ asks }) => (typeof asks === 'string' ? [] : [asks]))
  return ofContent(object, request.digest, approvals, releases)
    .toSorted((a, b) => (createdAt(a) < createdAt(b) ? -1 : createdAt(a) > createdAt(b) ? 1 : 0))
    .map((each): GivenApproval => {
      const { by, reason, until } = each.spec
      const counts = froms.length === 0 || froms.some(({ from }) => isFrom(asPerson(each), from))
      return {
        name: each.metadata.name ?? '',
        by: printableLine(by),
        ...at('at', each.metadata.creationTimestamp),
        ...at('until', until),
        ...defined({ reason: reason === undefined ? undefined : printableLine(reason) }),
        state: valid.includes(each) ? (counts ? 'Counts' : 'OfNoUse') : 'Expired',
      }
    })
}

function asksOf(asked: Approving, valid: readonly Approval[]): readonly AskedApprovals[] {
  const { askers, approvals, person } = asked
  if (typeof askers === 'string') return [{ name: 'who has to approve', unknown: askers }]
  const deadlines = deadlinesOf(asked)
  return askers.slice(0, MOST_LINES).map(({ name, asks }): AskedApprovals => {
    const ends = { name: printableLine(name), ...defined({ until: deadlines.get(name) }) }
    if (typeof asks === 'string') return { ...ends, unknown: printableLine(asks) }
    const { from, count } = asks
    const people = new Set(
      valid
        .map(asPerson)
        .filter((p) => isFrom(p, from))
        .map(({ by }) => by),
    )
    return {
      ...ends,
      from: from.includes(ANYONE) ? ANY_APPROVER : printableLine(namesOf(from)),
      needed: count,
      ...(approvals !== undefined && { missing: Math.max(0, count - people.size) }),
      ...(person !== undefined && {
        isYours: isFrom({ by: person.name, groups: person.groups }, from) && !people.has(person.name),
      }),
    }
  })
}

/** When gates of a release fail, by the name of the asker. */
function deadlinesOf({ object, pipeline }: Approving): ReadonlyMap<string, number> {
  if (object.kind !== 'Release') return new Map()
  const all = (object.status?.stages ?? []).flatMap(({ name: stage, gates = [] }) =>
    gates.flatMap(({ name, when, phase, since, seen = '' }): readonly [string, number][] => {
      const declared = pipeline?.spec.stages.find((s) => s.name === stage)
      if (phase !== 'Waiting' || declared === undefined) return []
      const moments = { Before: declared.before, During: declared.gates, After: declared.after }
      const gate = isOfRiskGate(name, seen) ? gateAbout(declared, '') : moments[when]?.find((g) => g.name === name)
      const [start, lasts] = [stamp(since), gate === undefined ? undefined : durationMs(timeoutOf(gate))]
      return start === undefined || lasts === undefined ? [] : [[`gate ${name} of ${stagePart(stage)}`, start + lasts]]
    }),
  )
  return new Map(all.toReversed())
}

// ---------------------------------------------------------------- lines

const effectOf = ({ text, on = [] }: { readonly text: string; readonly on?: readonly string[] }): ApprovalEffect => ({
  text: pageText(printableLine(text)),
  on: on.slice(0, MOST_ON).map(printableLine),
  moreOn: Math.max(0, on.length - MOST_ON),
})

const lines = (texts: readonly string[]): readonly string[] =>
  texts.slice(0, MOST_LINES).map((text) => pageText(printableLine(text)))
