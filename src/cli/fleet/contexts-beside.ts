// The kubeconfig's other contexts: one of them may be the hub, which knows more than this server.
import type { OtherCluster } from '#explain/with-hub.ts'
import type { Io } from '#lib/terminal/io.ts'
import { clientOf } from '#programs/run/connect.ts'
import { foundContexts, type Wanted } from '#programs/run/all-connections.ts'

/** A kubeconfig with more contexts is not searched for the hub. */
const MOST_CONTEXTS = 32

/** Contexts of the kubeconfig in use, except the one in use. */
export const contextsBeside = (
  { kubeconfig, context }: { readonly kubeconfig?: string; readonly context?: string },
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
): Promise<readonly OtherCluster[]> =>
  otherContexts({ file: kubeconfig, contexts: context === undefined ? [] : [context], env, cwd })

async function otherContexts(wanted: Wanted): Promise<readonly OtherCluster[]> {
  const found = await foundContexts({ ...wanted, contexts: [] }).catch(() => [])
  return found.slice(0, MOST_CONTEXTS).flatMap((one) =>
    'problem' in one
      ? []
      : [
          {
            context: one.context,
            read: async (question) => {
              const client = clientOf(one.config, 'kubenode-cli')
              try {
                return await question(client)
              } finally {
                client.close()
              }
            },
          },
        ],
  )
}
