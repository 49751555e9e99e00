// The pod that accepts a node: how it is made from its template, and what its end proves. Pure. Only a pod that ran to its end undisturbed has a result.
import { ACCEPTANCE_NAMESPACE, ANNOTATIONS, LABELS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { Pod } from './objects.ts'

type PodTemplate = BuiltIn['PodTemplate']
export const podTemplateType = coreKind('PodTemplate')

export interface AcceptancePodSeen {
  /** The pod of the recorded attempt. */
  readonly pod: Pod | undefined
  /** Undefined if it does not exist, or was not needed. */
  readonly template: PodTemplate | undefined
}

export const templateKey = (name: string) => ({ namespace: ACCEPTANCE_NAMESPACE, name })

export const noTemplateText = (name: string): string =>
  `PodTemplate ${name} not found in namespace ${ACCEPTANCE_NAMESPACE}`

/** One name for each run, so that a restarted controller finds the pod instead of creating a second one. */
export const podKey = (run: string) => ({ namespace: ACCEPTANCE_NAMESPACE, name: `accept-${run}` })

export interface WantedPod {
  readonly run: string
  readonly node: { readonly name: string; readonly uid: string }
  /** The pod is deleted with it. */
  readonly owner: KubeObject
  readonly template: PodTemplate
  readonly timeoutMs: number
}

/** The template decides everything but where the pod runs, how often and how long. It passes the scheduler, because the node takes no other pods. */
export function acceptancePodOf({ run, node, owner, template, timeoutMs }: WantedPod): Pod {
  const { spec = { containers: [] }, metadata } = template.template ?? {}
  const { schedulingGates: _, activeDeadlineSeconds, ...rest } = spec
  const mostSeconds = Math.max(1, Math.ceil(timeoutMs / 1_000))
  const { name = '', uid = '' } = owner.metadata
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...podKey(run),
      labels: { ...metadata?.labels, [LABELS.acceptanceOf]: uid },
      annotations: {
        ...metadata?.annotations,
        [ANNOTATIONS.acceptanceNode]: node.uid,
        [ANNOTATIONS.acceptanceTemplate]: templateDigest(template),
      },
      ownerReferences: [{ apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true }],
    },
    spec: {
      ...rest,
      nodeName: node.name,
      tolerations: [{ operator: 'Exists' }],
      restartPolicy: 'Never',
      activeDeadlineSeconds: Math.min(activeDeadlineSeconds ?? mostSeconds, mostSeconds),
      automountServiceAccountToken: spec.automountServiceAccountToken ?? false,
    },
  }
}

const templateDigest = ({ template }: PodTemplate): string => sha256OfJson(template ?? {})

export interface PodRef {
  readonly name: string
  readonly uid: string
  readonly template: string
}

/** For the record. Undefined: some other client made a pod of this name, for something else. */
export function podRefOf({ metadata }: Pod, owner: string, nodeUid: string): PodRef | undefined {
  const { name = '', uid = '', labels, annotations } = metadata
  const template = annotations?.[ANNOTATIONS.acceptanceTemplate]
  const isOurs = labels?.[LABELS.acceptanceOf] === owner && annotations?.[ANNOTATIONS.acceptanceNode] === nodeUid
  return isOurs && template !== undefined ? { name, uid, template } : undefined
}

export type PodResult =
  | { readonly kind: 'Open'; readonly seen: string }
  | { readonly kind: 'Ended'; readonly outcome: 'Succeeded' | 'Failed' | 'Unknown'; readonly output: string }

/**
 * A program may answer SIGTERM with exit code 0: a pod that is being deleted has no result. Neither has one that its kubelet or the cluster
 * ended, which gives the pod a reason of its own.
 */
export function podResult({ metadata, status }: Pod): PodResult {
  const { phase = 'Pending', reason, message } = status ?? {}
  const output = endsOf(status)
  if (metadata.deletionTimestamp !== undefined)
    return { kind: 'Ended', outcome: 'Unknown', output: `pod ${metadata.name} was deleted` }
  if (phase === 'Succeeded') return { kind: 'Ended', outcome: 'Succeeded', output }
  if (phase !== 'Failed') return { kind: 'Open', seen: openText(phase, status) }
  const disrupted = status?.conditions?.find((c) => c.type === 'DisruptionTarget' && c.status === 'True')
  const why = reason ?? disrupted?.reason
  if (why === undefined) return { kind: 'Ended', outcome: 'Failed', output }
  const text = message ?? disrupted?.message
  const lines = [output, `${why}${text === undefined ? '' : `: ${text}`}`]
  return { kind: 'Ended', outcome: 'Unknown', output: lines.filter((l) => l !== '').join('\n') }
}

export const isEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

const containersOf = (status: Pod['status']) => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
]

function openText(phase: string, status: Pod['status']): string {
  const waiting = containersOf(status).find((c) => c.state?.waiting?.reason !== undefined)
  if (phase !== 'Pending' || waiting === undefined) return phase
  const { reason = '', message } = waiting.state?.waiting ?? {}
  return `${phase}: ${waiting.name}: ${reason}${message === undefined ? '' : `: ${message}`}`
}

/** The one that failed comes last: people read the last line first. */
function endsOf(status: Pod['status']): string {
  const ends = containersOf(status).flatMap(({ name, state }) => {
    const { terminated } = state ?? {}
    return terminated === undefined ? [] : [{ name, ...defined(terminated) }]
  })
  return ends
    .toSorted((a, b) => Number((a.exitCode ?? 0) !== 0) - Number((b.exitCode ?? 0) !== 0))
    .map(({ name, exitCode, reason, message }) => {
      const how = `${name}: exit code ${exitCode}${reason === undefined || reason === 'Completed' ? '' : ` (${reason})`}`
      return message === undefined || message.trim() === '' ? how : `${how}: ${message.trim()}`
    })
    .join('\n')
}
