// The addons that KubeNode gives every control plane on the hub before sync reaches it: kinds, namespaces, roles and policies.
import { sha256OfJson } from '#lib/sha256.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { deliverRelease, type ReleaseOrder } from '#delivery/deliver-release.ts'
import { type Bound, endedWithin } from './within.ts'

export interface Addons extends Pick<ReleaseOrder, 'kinds' | 'objects'> {
  /** KubeNode's version with a digest of the objects. A different value is applied again. */
  readonly version: string
}

export type AddonsResult =
  | { readonly kind: 'Applied'; readonly version: string }
  /** The rest of its step was applied too. Later steps were not. */
  | { readonly kind: 'AddonFailed'; readonly version: string; readonly object: string; readonly message: string }

const DIGEST_DIGITS = 8

export const addonsOf = (version: string, kinds: readonly KubeObject[], objects: readonly KubeObject[]): Addons => ({
  version: `${version}+${sha256OfJson([kinds, objects]).slice(0, DIGEST_DIGITS)}`,
  kinds,
  objects,
})

export async function applyAddons(
  tools: Pick<ReleaseOrder, 'client' | 'clock' | 'signal'>,
  { version, kinds, objects }: Addons,
): Promise<AddonsResult> {
  const order = { ...tools, kinds, objects, fieldManager: FIELD_MANAGERS.cluster, record: 'kubenode' }
  const failure = await deliverRelease(order)
  return failure === undefined ? { kind: 'Applied', version } : { kind: 'AddonFailed', version, ...failure }
}

/** Some two hundred objects, kinds first. */
export const GIVEN_WITHIN_MS = 60_000

export const givenWithin = (
  { version }: Addons,
  bound: Bound,
  give: (signal: AbortSignal) => Promise<AddonsResult>,
): Promise<AddonsResult> =>
  endedWithin(bound, give, (message) => ({
    kind: 'AddonFailed',
    version,
    object: 'the API server of the cluster',
    message,
  }))
