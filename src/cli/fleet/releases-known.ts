// Releases with titles of commits: from this server or, if it has none, from the kubeconfig's other contexts, one of which may be the hub.
import { type Release, release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { OtherCluster } from '#explain/with-hub.ts'

/** Limit per request and context: an answer without titles beats a late one. */
const WITHIN_MS = 3_000

/** Empty if no server that answers has any, or the user may not read them. */
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
