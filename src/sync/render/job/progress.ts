// What a Job's objects show about a render: what it waits for, that its pod ended, or why it cannot run. Pure.
import { assertNever, type ErrorMessage } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { fieldsOf, objectsIn } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { syncErrors } from '../../sync-errors.ts'
import { CONTAINER } from './job-spec.ts'

export interface SeenJob {
  readonly name: string
  /** Undefined: it does not exist. */
  readonly job: KubeObject | undefined
  readonly pods: readonly KubeObject[]
  /** Events of the Job; read while it has no pod. */
  readonly events: readonly KubeObject[]
}

/** What a render waits for before its program runs. */
export type Awaited = 'Pod' | 'Quota' | 'Node' | 'Image' | 'Start'

export type Progress =
  | { readonly kind: 'Waiting'; readonly for: Awaited; readonly why: string }
  | { readonly kind: 'Running' }
  | { readonly kind: 'Ended'; readonly pod: string }
  | { readonly kind: 'OutOfMemory' }
  | { readonly kind: 'Failed'; readonly error: ErrorMessage }

type Fields = Readonly<Record<string, unknown>>
const MAX_WHY_CHARS = 300
const shown = (v: unknown): string => (typeof v === 'string' ? printableLine(v.slice(0, MAX_WHY_CHARS)) : '')

/** The image does not exist, and waiting does not help. The first failed pull may be caused by a busy registry. */
const NO_IMAGE = ['ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'RegistryUnavailable']
const PULLING = ['ErrImagePull', 'ImageInspectError', 'SignatureValidationFailed']
const CANNOT_START = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'StartError']
const QUOTA = 'exceeded quota'
/** Phrases of an API server that will give the same answer again. */
const REFUSED = /is forbidden|denied the request|violates PodSecurity|is invalid/

export function progressOf({ name, job, pods, events }: SeenJob): Progress {
  if (job === undefined || job.metadata.deletionTimestamp !== undefined)
    return failed(syncErrors.KN7126_failed({ job: name, why: 'it was deleted while it ran' }))
  const [pod] = pods
  if (pod !== undefined) return ofPod(name, pod)
  const ended = objectsIn(fieldsOf(job['status'])['conditions']).find(
    (c) => c['type'] === 'Failed' && c['status'] === 'True',
  )
  if (ended !== undefined)
    return failed(syncErrors.KN7126_failed({ job: name, why: `${shown(ended['reason'])}: ${shown(ended['message'])}` }))
  const messages = events.filter((e) => e['reason'] === 'FailedCreate').map((e) => shown(e['message']))
  return ofNoPod(name, messages.at(-1) ?? '')
}

function ofNoPod(name: string, message: string): Progress {
  if (message.includes(QUOTA)) return { kind: 'Waiting', for: 'Quota', why: message }
  if (REFUSED.test(message)) return failed(syncErrors.KN1413_render({ job: name, why: message }))
  return { kind: 'Waiting', for: 'Pod', why: message === '' ? 'the Job has no pod yet' : message }
}

const failed = (error: ErrorMessage): Progress => ({ kind: 'Failed', error })

function ofPod(name: string, pod: KubeObject): Progress {
  const status = fieldsOf(pod['status'])
  const container = objectsIn(status['containerStatuses']).find((c) => c['name'] === CONTAINER)
  const state = fieldsOf(container?.['state'])
  const terminated = fieldsOf(state['terminated'])
  if (terminated['reason'] === 'OOMKilled') return { kind: 'OutOfMemory' }
  const { phase, reason } = status
  // If something other than the program ended it, the kubelet reports that in the pod's status.
  if (phase === 'Failed' && typeof reason === 'string' && reason !== '')
    return failed(
      reason === 'DeadlineExceeded'
        ? syncErrors.KN7126_failed({ job: name, why: 'it did not end in time' })
        : syncErrors.KN7126({ job: name, reason: shown(reason), why: shown(status['message']) }),
    )
  if (phase === 'Succeeded' || phase === 'Failed') return { kind: 'Ended', pod: pod.metadata.name ?? '' }
  if (pod.metadata.deletionTimestamp !== undefined)
    return failed(syncErrors.KN7126({ job: name, reason: 'Deleted', why: whyDisrupted(status) }))
  if ('running' in state) return { kind: 'Running' }
  return ofWaiting(name, pod, fieldsOf(state['waiting']))
}

const whyDisrupted = (status: Fields): string =>
  shown(objectsIn(status['conditions']).find((c) => c['type'] === 'DisruptionTarget')?.['message']) ||
  'its pod was deleted'

function ofWaiting(name: string, pod: KubeObject, waiting: Fields): Progress {
  const why = [shown(waiting['reason']), shown(waiting['message'])].filter((t) => t !== '').join(': ')
  const reason = String(waiting['reason'] ?? '')
  if (NO_IMAGE.includes(reason)) return failed(syncErrors.KN1414_render({ job: name, why }))
  if (CANNOT_START.includes(reason)) return failed(syncErrors.KN7126_start({ job: name, why }))
  if (PULLING.includes(reason)) return { kind: 'Waiting', for: 'Image', why }
  const unscheduled = objectsIn(fieldsOf(pod['status'])['conditions']).find(
    (c) => c['type'] === 'PodScheduled' && c['status'] === 'False',
  )
  if (unscheduled !== undefined) return { kind: 'Waiting', for: 'Node', why: shown(unscheduled['message']) }
  return { kind: 'Waiting', for: 'Start', why: why === '' ? 'its pod has not started' : why }
}

/** The error after the start timeout. */
export function tooLate(name: string, waited: Awaited, why: string): ErrorMessage {
  switch (waited) {
    case 'Quota':
      return syncErrors.KN7122({ why })
    case 'Node':
      return syncErrors.KN7122_room({ job: name, why })
    case 'Image':
      return syncErrors.KN1414_render({ job: name, why })
    case 'Pod':
    case 'Start':
      return syncErrors.KN7126_start({ job: name, why })
    default:
      return assertNever(waited)
  }
}
