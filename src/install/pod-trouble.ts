// What keeps a workload's pods from becoming ready when waiting longer does not help. Pure.
import type { ErrorMessage } from '#lib/errors.ts'
import { fieldAt, objectsIn, textOf } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { unpulledIn } from '#delivery/unpulled.ts'
import { installErrors } from './install-errors.ts'

/** A program that starts before its dependencies exits a few times. */
const ENDS_TOO_OFTEN = 4
const MAX_WHY = 300

/** `images` are the template's: pods with an older image are about to be replaced. */
export function podTrouble(pods: readonly KubeObject[], images: ReadonlySet<string>): ErrorMessage | undefined {
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp !== undefined) continue
    const spec = pod['spec']
    const wanted = [...objectsIn(fieldAt(spec, 'initContainers')), ...objectsIn(fieldAt(spec, 'containers'))]
    if (!wanted.some((c) => images.has(textOf(c['image'])))) continue
    const status = pod['status']
    const states = [
      ...objectsIn(fieldAt(status, 'initContainerStatuses')),
      ...objectsIn(fieldAt(status, 'containerStatuses')),
    ]
    const name = pod.metadata.name ?? ''
    const unpulled = unpulledIn(pod)
    if (unpulled !== undefined) return installErrors.KN1414({ pod: `pod ${name}`, ...unpulled })
    for (const state of states) {
      const waiting = fieldAt(state['state'], 'waiting')
      const reason = textOf(fieldAt(waiting, 'reason'))
      const why = (textOf(fieldAt(waiting, 'message')) || reason).slice(0, MAX_WHY)
      const restarts = typeof state['restartCount'] === 'number' ? state['restartCount'] : 0
      if (reason === 'CrashLoopBackOff' && restarts >= ENDS_TOO_OFTEN)
        return installErrors.KN1432_keepsEnding({
          pod: name,
          namespace: pod.metadata.namespace ?? '',
          why: lastEnd(state) || why,
        })
    }
  }
  return undefined
}

function lastEnd(state: Readonly<Record<string, unknown>>): string {
  const end = fieldAt(state['lastState'], 'terminated')
  const code = fieldAt(end, 'exitCode')
  if (typeof code !== 'number') return ''
  const message = textOf(fieldAt(end, 'message')).slice(-MAX_WHY).trim()
  return `exit code ${code}${message === '' ? '' : `: ${message}`}`
}

/** Why the workload has too few pods, in the server's words. */
export function refusedPods(workload: KubeObject): string | undefined {
  const failed = objectsIn(fieldAt(workload['status'], 'conditions')).find(
    (c) => c['type'] === 'ReplicaFailure' && c['status'] === 'True',
  )
  return failed === undefined ? undefined : textOf(failed['message']).slice(0, MAX_WHY)
}

/** Phases and reasons of pods that are not ready, for the wait line. */
export function waitingPods(pods: readonly KubeObject[]): string {
  const words = pods.flatMap((pod) => {
    const status = pod['status']
    const conditions = objectsIn(fieldAt(status, 'conditions'))
    if (conditions.some((c) => c['type'] === 'Ready' && c['status'] === 'True')) return []
    const unscheduled = conditions.find((c) => c['type'] === 'PodScheduled' && c['status'] === 'False')
    const waiting = objectsIn(fieldAt(status, 'containerStatuses')).map((s) =>
      fieldAt(fieldAt(s['state'], 'waiting'), 'reason'),
    )
    const why = textOf(unscheduled?.['message']) || waiting.map(textOf).find((w) => w !== '')
    return [why === undefined || why === '' ? textOf(fieldAt(status, 'phase')) : why]
  })
  return [...new Set(words.filter((w) => w !== ''))].join('; ').slice(0, MAX_WHY)
}
