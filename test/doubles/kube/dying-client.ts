// A client whose process dies at one of its writes: before the write reaches the server or after it, and nothing is called any more from then on.
import type { KubeClient } from '#kube/client.ts'

export class Died extends Error {
  constructor() {
    super('the process died')
  }
}

const WRITES = ['create', 'update', 'patch', 'apply', 'delete', 'deleteCollection', 'scale'] as const
type Method = keyof KubeClient

export interface DyingClient {
  readonly client: KubeClient
  /** How many writes there were. */
  readonly writes: () => number
}

/** Dry runs do not count, nor do Leases, which are renewed at their own time. `at` is the number of the write, from 1; beyond the last one nothing dies. */
export function dyingClient(real: KubeClient, at: number, when: 'before' | 'after'): DyingClient {
  let writes = 0
  let isDead = false
  const wrapped =
    (method: Method) =>
    async (...args: unknown[]) => {
      if (isDead) throw new Died()
      const call = () => (real[method] as (...a: unknown[]) => Promise<unknown>).apply(real, args)
      const isDryRun = args.some((a) => typeof a === 'object' && a !== null && 'dryRun' in a && a.dryRun === true)
      const isLease = (args[0] as { readonly kind?: string } | undefined)?.kind === 'Lease'
      if (!WRITES.some((w) => w === method) || isDryRun || isLease) return call()
      if (++writes !== at) return call()
      isDead = true
      if (when === 'after') await call()
      throw new Died()
    }
  const client = new Proxy(real, { get: (_, method) => wrapped(method as Method) })
  return { client, writes: () => writes }
}
