// What a cluster is called where its name has to be typed: as it was installed, or as the kubeconfig calls it.
import type { ServerOptions } from '../commands/inspect.ts'
import type { Io } from '../io.ts'
import type { InstallContext } from './context.ts'
import { storedValues } from './load.ts'

export async function clusterName(
  { client }: Pick<InstallContext, 'client'>,
  { kubeconfig, context }: ServerOptions,
  io: Io,
): Promise<string> {
  const { cluster } = await storedValues(client)
  if (typeof cluster === 'string' && cluster !== '') return cluster
  const { connectionOf } = await import('../run/connect.ts')
  const connection = await connectionOf(kubeconfig ?? io.env['KUBECONFIG'] ?? '', context)
  return connection.context
}
