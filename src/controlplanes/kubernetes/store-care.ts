// Maintains one control plane's store by Jobs, one at a time. Each is recorded before it starts, so another controller can continue it.
import {
  ALARMS,
  askJob,
  compactJob,
  defragmentJob,
  disarmJob,
  statusOf,
} from '#api/constructs/control-plane/etcd-store-jobs.ts'
import { quotaOf } from '#api/constructs/control-plane/etcd.ts'
import type { ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'
import { isObject } from '#lib/json.ts'
import { lineIn, logOf, observeJob, nameFor, type ReadLog, removeJob } from './care-jobs.ts'
import { memberPods, readyMembers } from './etcd-members.ts'
import { listAt, numberAt, recordAt } from './fields-of.ts'
import type { Place } from './plane-objects.ts'
import type { Kept, PlaneRecord } from './plane-record.ts'
import {
  afterAsking,
  afterFailure,
  afterStep,
  nextStep,
  NO_CARE,
  type StoreCare,
  type StoreReport,
  type StoreStep,
} from './store-state.ts'

/** etcd's alarm number. */
const NOSPACE = 1

interface StoreTools {
  readonly place: Place
  readonly settings: ControlPlaneSettings
  readonly readLog: ReadLog
  readonly now: number
  readonly write: (kept: Kept, record: PlaneRecord) => Promise<Kept>
  /** As reported by the API server, if it does. */
  readonly bytes: number | undefined
  readonly isWhole: boolean
}

export async function careForStore(tools: StoreTools, kept: Kept): Promise<Kept> {
  const { place, settings, now, write } = tools
  const care = kept.record.store ?? NO_CARE
  const serving = readyMembers(await memberPods(place, settings))
  const step = nextStep(care, {
    now,
    members: settings.etcd.members,
    serving,
    isWhole: tools.isWhole,
    quota: quotaOf(settings.etcd.storage, settings.extraArgs),
    bytes: tools.bytes,
    bornAt: Date.parse(kept.namespace.metadata.creationTimestamp ?? '') || now,
  })
  if (step === undefined) return kept
  const keep = (of: Kept, store: StoreCare): Promise<Kept> => write(of, { ...of.record, store })
  if (step.do === 'finish') return keep(kept, afterStep(care, step))
  const { doing } = care
  if (doing === undefined) {
    // Record first: an unrecorded Job would never be removed.
    const next = await keep(kept, { ...care, doing: { ...step, token: now.toString(36) } })
    return careForStore(tools, next)
  }
  const name = nameFor('store', doing)
  const reading = await observeJob(place, name, jobOf(settings, name, doing, serving))
  if (reading.is === 'Waits') return kept
  const after = reading.is === 'Failed' ? afterFailure(care, doing, now, reading.why) : await found(tools, care, name)
  const next = await keep(kept, after)
  await removeJob(place, name)
  return next
}

function jobOf(
  settings: ControlPlaneSettings,
  name: string,
  step: Exclude<StoreStep, { do: 'finish' }>,
  members: readonly number[],
): object {
  switch (step.do) {
    case 'ask':
      return askJob(settings, name, members)
    case 'compact':
      return compactJob(settings, name, { members, revision: step.revision })
    case 'defragment':
      return defragmentJob(settings, name, step.member)
    case 'disarm':
      return disarmJob(settings, name, members)
    default:
      return step satisfies never
  }
}

async function found({ place, settings, readLog, now }: StoreTools, care: StoreCare, job: string): Promise<StoreCare> {
  const { doing } = care
  if (doing === undefined) return care
  if (doing.do !== 'ask') return afterStep(care, doing)
  const alarms = lineIn(await logOf(place, job, ALARMS, readLog), (of) =>
    isObject(of) && isObject(of['header']) ? of : undefined,
  )
  const members: StoreReport['members'][number][] = []
  let revision = 0
  for (let member = 0; member < settings.etcd.members; member++) {
    const status = lineIn(await logOf(place, job, statusOf(member), readLog), statusIn)
    // This member was not asked.
    if (status === undefined) continue
    revision = Math.max(revision, numberAt(recordAt(status, 'header'), 'revision'))
    members.push({
      member,
      bytes: numberAt(status, 'dbSize'),
      inUse: numberAt(status, 'dbSizeInUse'),
      // Ids exceed exact numbers; two that collide are as rare as a broken digest.
      isLeader: numberAt(status, 'leader') === numberAt(recordAt(status, 'header'), 'member_id'),
    })
  }
  if (alarms === undefined || members.length === 0)
    return afterFailure(care, doing, now, `Job ${job} did not report how full the store is`)
  const isFull = listAt(alarms, 'alarms').some((of) => of['alarm'] === NOSPACE)
  return afterAsking(care, { at: now, revision, members }, isFull)
}

const statusIn = (line: unknown): Readonly<Record<string, unknown>> | undefined => {
  const status = recordAt(Array.isArray(line) ? line[0] : undefined, 'Status')
  return typeof status['dbSize'] === 'number' ? status : undefined
}
