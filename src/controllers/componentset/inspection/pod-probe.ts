// The pod inspection: one pod per step, on a machine with the new version. The pod must succeed, or answer on its port while it runs. Pure.
import { defined } from '#lib/defined.ts'
import { LABELS, PROBES_NAMESPACE } from '#api/names.ts'
import { parseDuration } from '#lib/duration.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { isPodReady, type Pod } from '#nodes/objects.ts'
import type { SetAction } from '../actions.ts'
import { type Inspection, type CheckResult, isInspected } from './inspections.ts'
import type { Reading } from '../members/reading.ts'
import type { Seen, Slice } from '../seen.ts'
import { sha256Hex } from '#lib/sha256.ts'

const HASH_CHARS = 16

/** Per step: all its slices share the probe, and another version has its own. */
function probeHash({ component, version = '', config = '', step }: Slice, { name }: Inspection): string {
  const text = [component, version, config, step, name].join('\n')
  return sha256Hex(text).slice(0, HASH_CHARS)
}

const isPodOf = (pod: Pod, hash: string): boolean => pod.metadata.name?.endsWith(`-${hash}`) === true

export function podResult(
  slice: Slice,
  inspection: Inspection,
  pods: readonly Pod[] | undefined,
): CheckResult | undefined {
  const pod = pods?.find((p) => isPodOf(p, probeHash(slice, inspection)))
  if (pod === undefined) return undefined
  const { phase = 'Pending' } = pod.status ?? {}
  const isAnswering = inspection.podProbe?.port !== undefined && isPodReady(pod)
  const where = pod.spec?.nodeName ?? 'no node'
  return { holds: phase === 'Succeeded' || isAnswering, seen: `pod ${pod.metadata.name} on ${where} is ${phase}` }
}

export interface ProbedStep {
  readonly slice: Slice
  /** Machines of the step that run the version. */
  readonly machines: () => readonly Reading[]
}

/** Starts the pods that open steps need, and deletes the rest. */
export function probePods({ set, probePods: pods }: Seen, steps: readonly ProbedStep[]): readonly SetAction[] {
  if (pods === undefined) return []
  const wanted = (set.spec.rollout.inspections ?? []).filter((i) => i.podProbe !== undefined)
  const open = steps.filter((s) => isInspected(s.slice))
  const hashes = new Set(open.flatMap((s) => wanted.map((i) => probeHash(s.slice, i))))
  const isWanted = (pod: Pod) => [...hashes].some((h) => isPodOf(pod, h))
  const ends = pods
    .filter((p) => !isWanted(p) && p.metadata.deletionTimestamp === undefined)
    .map((pod) => ({ kind: 'EndProbePod' as const, reason: 'its step has finished', pod }))
  const starts = open.flatMap((step) =>
    wanted.flatMap((inspection) => {
      const hash = probeHash(step.slice, inspection)
      const node = step.machines().find((m) => m.health === 'Up')?.machine.status?.nodeRef?.name
      if (node === undefined || pods.some((p) => isPodOf(p, hash))) return []
      const pod = podOf(set, inspection, `${shortName(set)}-${hash}`, node)
      return [
        { kind: 'StartProbePod' as const, reason: `inspection ${inspection.name} of step ${step.slice.step + 1}`, pod },
      ]
    }),
  )
  return [...ends, ...starts]
}

const MOST_NAME_CHARS = 40
const shortName = ({ metadata: { name = '' } }: Seen['set']): string =>
  `probe-${withoutEnd(name.slice(0, MOST_NAME_CHARS).replaceAll('.', '-'), /-/)}`

/** The probe namespace admits only restricted pods, and most images set no user. */
const NOBODY = 65_534

/** Bypasses the scheduler: a cordon or a taint is no reason to skip the probe. The pod gets no cluster credentials. */
function podOf(set: Seen['set'], { podProbe, timeout }: Inspection, name: string, nodeName: string): Pod {
  const { uid = '', name: owner = '' } = set.metadata
  const port = podProbe?.port
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: PROBES_NAMESPACE,
      labels: { [LABELS.probeOf]: uid },
      ownerReferences: [{ apiVersion: set.apiVersion, kind: set.kind, name: owner, uid, controller: true }],
    },
    spec: {
      nodeName,
      restartPolicy: 'OnFailure',
      activeDeadlineSeconds: Math.max(1, Math.ceil(parseDuration(timeout) / 1_000)),
      terminationGracePeriodSeconds: 5,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ operator: 'Exists' }],
      securityContext: { runAsNonRoot: true, runAsUser: NOBODY, runAsGroup: NOBODY },
      containers: [
        {
          name: 'probe',
          ...defined({ image: podProbe?.image, command: podProbe?.command }),
          ...(port !== undefined && { readinessProbe: { tcpSocket: { port }, periodSeconds: 2 } }),
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '256Mi' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            seccompProfile: { type: 'RuntimeDefault' },
          },
        },
      ],
    },
  }
}
