// Installs what KubeNode needs in a cluster: kinds, namespaces, roles, policies. Uses server-side apply, so a second run changes nothing.
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { deliverRelease } from '#delivery/deliver-release.ts'
import { type Manifests, manifestsOf } from '#delivery/release-manifests.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { localErrors } from './local-errors.ts'

export const definitions = coreKind('CustomResourceDefinition')

/** For a cluster that is its own hub. */
export const install = (client: KubeClient, deploy: string, clock: Clock): Promise<void> =>
  installManifests(client, manifestsOf(deploy), clock, true)

export async function installManifests(
  client: KubeClient,
  { kinds, rest, hub }: Manifests,
  clock: Clock,
  isHub: boolean,
): Promise<void> {
  const tools = { client, clock, fieldManager: FIELD_MANAGERS.cli }
  const failure = await deliverRelease({ ...tools, kinds, objects: isHub ? [...rest, ...hub] : rest })
  if (failure !== undefined) throw new KubeNodeError(localErrors.KN1211_install(failure))
}
