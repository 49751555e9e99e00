// The cluster name a user has to type to confirm: the installed name, or the kubeconfig's.
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { type ServerOptions, chosenBy } from '../../fleet/connect.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { InstallContext } from '#install/context.ts'
import { storedValues } from '#install/load.ts'

const namespaceType = coreKind('Namespace')

export async function clusterName(
  { client }: Pick<InstallContext, 'client'>,
  options: ServerOptions,
  io: Io,
): Promise<string> {
  const { cluster } = await storedValues(client)
  if (typeof cluster === 'string' && cluster !== '') return cluster
  // Fallback: the settings are deleted before the namespace, by kubectl delete -f too.
  const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE })
  const named = namespace?.metadata.annotations?.[ANNOTATIONS.clusterName]
  if (named !== undefined && named !== '') return named
  return (await chosenBy(options, io)).context
}
