// What a cluster is called where its name has to be typed: as it was installed, or as the kubeconfig calls it.
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ServerOptions } from '../../fleet/connect.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import type { InstallContext } from '#install/context.ts'
import { storedValues } from '#install/load.ts'

const namespaceType = coreKind('Namespace')

export async function clusterName(
  { client }: Pick<InstallContext, 'client'>,
  { kubeconfig, context }: ServerOptions,
  io: Io,
): Promise<string> {
  const { cluster } = await storedValues(client)
  if (typeof cluster === 'string' && cluster !== '') return cluster
  // The settings are deleted before the namespace is, by kubectl delete -f as well.
  const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE })
  const named = namespace?.metadata.annotations?.[ANNOTATIONS.clusterName]
  if (named !== undefined && named !== '') return named
  const { chosenConnection } = await import('#programs/run/connect.ts')
  const chosen = await chosenConnection({
    file: kubeconfig,
    context,
    env: io.env,
    cwd: io.cwd,
    show: io.ask && ((text) => showProblem(io, text)),
  })
  return chosen.context
}
