// Where sync renders commits: in Jobs of its cluster if it runs in a pod, else in a process on its machine. It never falls back to the other.
import { isInPod } from '#kube/in-cluster.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { isText } from '#lib/fields.ts'
import type { Placement } from '#sync/render/job/job-spec.ts'
import { runErrors } from './run-errors.ts'

export const RENDER_PLACES = ['job', 'process'] as const

export interface RenderOptions {
  readonly render?: (typeof RENDER_PLACES)[number]
  readonly renderImage?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Characters allowed in an image reference. */
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/

/** The image for Jobs; undefined to render in a process. */
export function renderImageOf({ render, renderImage, env }: RenderOptions): string | undefined {
  if ((render ?? (isInPod(env) ? 'job' : 'process')) === 'process') return undefined
  if (renderImage === undefined || !IMAGE.test(renderImage))
    throw new KubeNodeError(
      runErrors.KN1002_renderImage({ seen: renderImage === undefined ? 'none' : JSON.stringify(renderImage) }),
    )
  return renderImage
}

const EFFECTS: readonly unknown[] = [undefined, 'NoSchedule', 'PreferNoSchedule', 'NoExecute']

const isToleration = (v: unknown): v is Placement['tolerations'][number] =>
  isObject(v) &&
  isText(v['key']) &&
  v['key'] !== '' &&
  (v['value'] === undefined || isText(v['value'])) &&
  EFFECTS.includes(v['effect'])

/** `{"nodeSelector":{…},"tolerations":[…]}`, as in an installation's settings. */
export function renderPlacementOf(text: string | undefined): Placement | undefined {
  if (text === undefined) return undefined
  const refuse = (): never => {
    throw new KubeNodeError(runErrors.KN1002_placement({ seen: JSON.stringify(text.slice(0, 200)) }))
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse()
  }
  if (!isObject(value)) return refuse()
  const { nodeSelector = {}, tolerations = [], ...others } = value
  if (!isObject(nodeSelector) || !Object.values(nodeSelector).every(isText)) return refuse()
  if (!Array.isArray(tolerations) || !tolerations.every(isToleration) || Object.keys(others).length > 0) return refuse()
  return { nodeSelector: nodeSelector as Placement['nodeSelector'], tolerations }
}
