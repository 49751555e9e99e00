// Observes an etcd's members and replaces a lost one: removes it from the others, adds it again, and gives it an empty volume, in this order. Each step is
// recorded before it starts, so another controller can continue it.
import {
  addMemberJob,
  listMembersJob,
  MEMBERS,
  removeMemberJob,
} from '#api/constructs/control-plane/etcd-member-jobs.ts'
import { dataClaim, foundingObject, memberName } from '#api/constructs/control-plane/etcd.ts'
import { emptyDataClaim } from '#api/constructs/control-plane/etcd-jobs.ts'
import type { ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { plainObject } from '#api/schema/object-meta.ts'
import { logOf, observeJob, nameFor, type ReadLog, removeJob } from './care-jobs.ts'
import { isServing, memberPods } from './etcd-members.ts'
import { listAt, recordAt } from './fields-of.ts'
import {
  afterListing,
  listedIn,
  lostAmong,
  type MemberCare,
  type MemberSeen,
  nextMemberStep,
  NO_MEMBER_CARE,
  type Replacing,
  signIn,
} from './member-state.ts'
import { applyAll, CLAIMS, PODS, type Place } from './plane-objects.ts'
import type { Kept, PlaneRecord } from './plane-record.ts'
import { defined } from '#lib/defined.ts'

export interface MemberTools {
  readonly place: Place
  readonly settings: ControlPlaneSettings
  readonly readLog: ReadLog
  readonly now: number
  readonly write: (kept: Kept, record: PlaneRecord) => Promise<Kept>
}

/** The error is in the last lines, before a crash's stack trace. */
const LOG_LINES = 200
const CONTAINER = 'etcd'

/** Only a store that served once has members to lose. */
export async function noteLostMember(tools: MemberTools, kept: Kept): Promise<Kept> {
  const { record } = kept
  const care = record.members ?? NO_MEMBER_CARE
  if (record.isFounded !== true || care.replacing !== undefined) return kept
  const { lost: before, ...rest } = care
  const lost = lostAmong(await membersSeen(tools), before, tools.now)
  if (lost === undefined && before === undefined) return kept
  return tools.write(kept, { ...record, members: { ...rest, ...defined({ lost }) } })
}

/** The replacement's next step; `why` is what it waits for, until the number is reached. */
export async function replaceLostMember(
  tools: MemberTools,
  first: Kept,
): Promise<{ readonly kept: Kept; readonly why: string }> {
  const { now, write } = tools
  let kept = first
  const care = kept.record.members ?? NO_MEMBER_CARE
  const members = await membersSeen(tools)
  if (care.replacing === undefined) {
    if (care.lost === undefined) return { kept: await write(kept, finished(kept.record, care)), why: '' }
    const { member } = care.lost
    const { pod, claim } = members[member] ?? {}
    const replacing: Replacing = {
      member,
      ...(claim !== undefined && { claim: claim.uid }),
      ...(pod !== undefined && { pod: pod.uid }),
      token: now.toString(36),
      step: 'list',
    }
    kept = await write(kept, { ...kept.record, members: { ...care, replacing } })
    return replaceLostMember(tools, kept)
  }
  const { replacing } = care
  const step = nextMemberStep(replacing, members, now)
  const why = (what: string): string => `${memberName(replacing.member)} is being replaced: ${what}`
  const others = members.flatMap((_, n) => (n === replacing.member ? [] : [n]))
  const claim = dataClaim(replacing.member)
  const { client, namespace } = tools.place
  switch (step.do) {
    case 'wait':
      return { kept, why: why(step.why) }
    case 'finish':
      return { kept: await write(kept, finished(kept.record, care)), why: why('done') }
    case 'list':
      return asked(tools, kept, care, replacing, (name) => listMembersJob(tools.settings, name, others))
    case 'remove':
      return asked(tools, kept, care, replacing, (name) => removeMemberJob(tools.settings, name, others, step.id))
    case 'add':
      return asked(tools, kept, care, replacing, (name) => addMemberJob(tools.settings, name, others, replacing.member))
    case 'delete-claim': {
      const found = await client.get(CLAIMS, { namespace, name: claim })
      if (found !== undefined && (replacing.claim === undefined || found.metadata.uid === replacing.claim))
        await deleteExactly(client, CLAIMS, found)
      return { kept, why: why(`volume claim ${claim} is replaced by an empty one`) }
    }
    case 'delete-pod': {
      const name = memberName(replacing.member)
      const options = { preconditions: { uid: step.uid }, ...(step.isForced && { gracePeriodSeconds: 0 }) }
      await outcomeOf(() => client.delete(PODS, { namespace, name }, options))
      return { kept, why: why('its pod ends') }
    }
    case 'make-claim':
      await applyAll(tools.place, [plainObject(emptyDataClaim(tools.settings, replacing.member))])
      return { kept, why: why(`volume claim ${claim} is made`) }
    case 'join': {
      kept = await write(kept, { ...kept.record, members: { ...care, replacing: { ...replacing, step: 'join' } } })
      const { settings, place } = tools
      await applyAll(place, [
        plainObject(foundingObject({ ...settings, etcd: { ...settings.etcd, startsEmpty: true } })),
      ])
      return { kept, why: why('it may start with an empty volume') }
    }
    default:
      return step satisfies never
  }
}

const finished = (record: PlaneRecord, { replaced }: MemberCare): PlaneRecord => ({
  ...record,
  members: { replaced: replaced + 1 },
})

export const replacedIn = ({ members }: PlaneRecord): number => members?.replaced ?? 0

export function whyNoReplacement({ isStopped, restoring, store }: PlaneRecord): string | undefined {
  if (isStopped || restoring !== undefined) return 'its etcd is stopped'
  return store?.doing?.do === 'defragment' ? 'a member of etcd is being defragmented' : undefined
}

/** A restored store has other members. */
export async function endReplacement(place: Place, { members }: PlaneRecord): Promise<void> {
  if (members?.replacing !== undefined) await removeJob(place, jobOf(members.replacing))
}

/** A second attempt is a new Job. */
const jobOf = ({ token, step, id, failed }: Replacing): string => nameFor('member', [token, step, id, failed?.at])

const AFTER = { remove: 'add', add: 'volume' } as const

async function asked(
  tools: MemberTools,
  kept: Kept,
  care: MemberCare,
  replacing: Replacing,
  manifest: (name: string) => object,
): Promise<{ readonly kept: Kept; readonly why: string }> {
  const { place, readLog, now, write } = tools
  const { failed: _, ...rest } = replacing
  const job = jobOf(replacing)
  const reading = await observeJob(place, job, manifest(job))
  const name = memberName(replacing.member)
  if (reading.is === 'Waits')
    return {
      kept,
      why: `${name} is being replaced: Job ${job} (member ${replacing.step})${reading.why.slice(`Job ${job}`.length)}`,
    }
  const next = async (of: Replacing) => {
    const after = await write(kept, { ...kept.record, members: { ...care, replacing: of } })
    await removeJob(place, job)
    return { kept: after, why: `${name} is being replaced` }
  }
  // The change may have happened anyway: ask the members.
  if (reading.is === 'Failed') return next({ ...rest, step: 'list', failed: { at: now, why: reading.why } })
  if (replacing.step === 'remove' || replacing.step === 'add') return next({ ...rest, step: AFTER[replacing.step] })
  const listed = listedIn(await logOf(place, job, MEMBERS, readLog))
  if (listed.length === 0) return next({ ...rest, failed: { at: now, why: `Job ${job} did not report the members` } })
  return next({ ...rest, ...afterListing(replacing, name, listed) })
}

async function membersSeen(tools: MemberTools): Promise<readonly MemberSeen[]> {
  const { place, settings } = tools
  const { client, namespace, signal } = place
  const [pods, claims] = await Promise.all([
    memberPods(place, settings),
    listAll(client, CLAIMS, { namespace, ...defined({ signal }) }),
  ])
  const isAlone = pods.filter((pod) => !isServing(pod)).length === 1
  return Promise.all(
    pods.map(async (pod, member): Promise<MemberSeen> => {
      const claim = claims.find((one) => one.metadata.name === dataClaim(member))
      const { uid = '', deletionTimestamp } = pod?.metadata ?? {}
      return {
        isServing: isServing(pod),
        pod: pod && {
          uid,
          isOnNode: recordAt(pod, 'spec')['nodeName'] !== undefined,
          ...(deletionTimestamp !== undefined && { endsAt: Date.parse(deletionTimestamp) }),
        },
        claim: claim && { uid: claim.metadata.uid ?? '', isEnding: claim.metadata.deletionTimestamp !== undefined },
        sign: isServing(pod) || !isAlone ? undefined : await signOf(tools, pod, claim),
      }
    }),
  )
}

async function signOf({ place, readLog }: MemberTools, pod: KubeObject | undefined, claim: KubeObject | undefined) {
  if (recordAt(claim, 'status')['phase'] === 'Lost') return `volume claim ${claim?.metadata.name ?? ''} lost its volume`
  if (pod === undefined) return undefined
  const unplaced = listAt(recordAt(pod, 'status'), 'conditions').find(
    (of) => of['type'] === 'PodScheduled' && of['status'] === 'False',
  )
  if (String(unplaced?.['message'] ?? '').includes('volume node affinity conflict'))
    return 'its volume lies on a node that is not there'
  if (recordAt(pod, 'status')['phase'] !== 'Running') return undefined
  const { name = '' } = pod.metadata
  // A container that has not started has no log.
  const log = await readLog({ namespace: place.namespace, name }, CONTAINER, LOG_LINES).catch(() => '')
  const sign = signIn(log)
  return sign === undefined ? undefined : `its volume is empty, or not its own; its log ends with: ${sign}`
}
