// The Releases that say what commits are called: of this server, or where it has none of the other contexts of the kubeconfig, one of which is the hub.
import { type Release, release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { OtherCluster } from '#explain/with-hub.ts'

/** Of one question to one context: an answer without titles is worth more than one that is late. */
const WITHIN_MS = 3_000

/** Empty where no server that answers has some, or this user may not read them. */
export async function releasesKnown(
  own: Pick<KubeClient, 'list'>,
  others: () => Promise<readonly OtherCluster[]>,
): Promise<readonly Release[]> {
  const ask = (client: Pick<KubeClient, 'list'>) =>
    listAll(client, release, { namespace: SYSTEM_NAMESPACE, timeoutMs: WITHIN_MS }).catch(() => [])
  const here = await ask(own)
  if (here.length > 0) return here
  return (await Promise.all((await others()).map(({ read }) => read(ask).catch(() => [])))).flat()
}
