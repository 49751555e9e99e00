// Finds the image of a pod that its node cannot pull: the kubelet tried again, or never will. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import { fieldAt, objectsIn, textOf } from '#lib/fields.ts'

export interface Unpulled {
  readonly image: string
  /** In the words of the kubelet. */
  readonly why: string
}

/** A first failed pull may be the network. */
const NOT_PULLED: ReadonlySet<string> = new Set(['ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'])
const MAX_WHY = 300

export function unpulledIn(pod: KubeObject): Unpulled | undefined {
  const [spec, status] = [pod['spec'], pod['status']]
  const containers = [...objectsIn(fieldAt(spec, 'initContainers')), ...objectsIn(fieldAt(spec, 'containers'))]
  const states = [
    ...objectsIn(fieldAt(status, 'initContainerStatuses')),
    ...objectsIn(fieldAt(status, 'containerStatuses')),
  ]
  for (const state of states) {
    const waiting = fieldAt(state['state'], 'waiting')
    const reason = textOf(fieldAt(waiting, 'reason'))
    if (!NOT_PULLED.has(reason)) continue
    const image = textOf(containers.find((c) => c['name'] === state['name'])?.['image']) || textOf(state['image'])
    return { image, why: (textOf(fieldAt(waiting, 'message')) || reason).slice(0, MAX_WHY) }
  }
  return undefined
}
