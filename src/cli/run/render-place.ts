// Where sync renders commits: in Jobs of its cluster when it is a pod itself, else in a process of its machine. Never another place than the one that was said.
import { isInPod } from '#kube/in-cluster.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { runErrors } from './run-errors.ts'

export const RENDER_PLACES = ['job', 'process'] as const

export interface RenderWish {
  readonly render?: (typeof RENDER_PLACES)[number]
  readonly renderImage?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A reference of an image, in the characters that one may have. */
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/

/** The image for Jobs; undefined: in a process. */
export function renderImageOf({ render, renderImage, env }: RenderWish): string | undefined {
  if ((render ?? (isInPod(env) ? 'job' : 'process')) === 'process') return undefined
  if (renderImage === undefined || !IMAGE.test(renderImage))
    throw new KubeNodeError(
      runErrors.KN1327({ seen: renderImage === undefined ? 'none' : JSON.stringify(renderImage) }),
    )
  return renderImage
}
