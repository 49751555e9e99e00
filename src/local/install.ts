// Puts into a cluster what KubeNode needs there: kinds, namespace, roles, policies. By server-side apply, so that running it again changes nothing.
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isEstablished } from '#controlplanes/addons.ts'
import { type Manifests, manifestsOf } from '#delivery/release-manifests.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { typeOf } from '#kube/installed-type.ts'
import { localErrors } from './local-errors.ts'

export const definitions = coreKind('CustomResourceDefinition')

const ESTABLISH_WITHIN_MS = 20_000
const LOOK_EVERY_MS = 50

const apply = (client: KubeClient, o: KubeObject): Promise<KubeObject> =>
  client.apply(typeOf(o), o, { fieldManager: FIELD_MANAGERS.cli, force: true })

/** A definition that was there before says so in the answer to its apply. */
async function untilEstablished(client: KubeClient, applied: KubeObject, clock: Clock): Promise<void> {
  const { name = '' } = applied.metadata
  const until = clock.monotonic() + ESTABLISH_WITHIN_MS
  if (isEstablished(applied)) return
  for (;;) {
    if (isEstablished(await client.get(definitions, { name }))) return
    if (clock.monotonic() > until)
      throw new KubeNodeError(localErrors.KN1212({ name, establishWithinMs: ESTABLISH_WITHIN_MS / 1000 }))
    await clock.sleep(LOOK_EVERY_MS)
  }
}

/** Of a cluster that is its own hub. */
export const install = (client: KubeClient, deploy: string, clock: Clock): Promise<void> =>
  installManifests(client, manifestsOf(deploy), clock, true)

export async function installManifests(
  client: KubeClient,
  { kinds, rest, hub }: Manifests,
  clock: Clock,
  isHub: boolean,
): Promise<void> {
  const applied = await Promise.all(kinds.map((o) => apply(client, o)))
  // One after the other: while the first is waited for, the server takes up the others.
  for (const definition of applied) await untilEstablished(client, definition, clock)
  // A namespace has to be there before what lives in it.
  const all = isHub ? [...rest, ...hub] : rest
  const isNamespace = (o: KubeObject) => o.kind === 'Namespace'
  await Promise.all(all.filter(isNamespace).map((o) => apply(client, o)))
  await Promise.all(all.filter((o) => !isNamespace(o)).map((o) => apply(client, o)))
}
