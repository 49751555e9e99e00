// Waits until the API server of a local fleet's kubeconfig answers.
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { localErrors } from './local-errors.ts'

const SERVER_WITHIN_MS = 20_000
const POLL_MS = 50
const ANSWER_WITHIN_MS = 2_000

export interface Connected {
  readonly client: KubeClient & { close(): void }
  readonly server: string
  /** PEM. */
  readonly ca: string
}

/** A client of the cluster that this kubeconfig file names. */
export type Connect = (kubeconfig: string) => Promise<Connected>

/** `whyEnded`: why its program exited last. A server that cannot start has written no kubeconfig, so the client's own error misleads. */
export async function serverUp(
  kubeconfig: string,
  connect: Connect,
  signal: AbortSignal,
  whyEnded: () => string | undefined = () => undefined,
): Promise<Connected> {
  const until = systemClock.monotonic() + SERVER_WITHIN_MS
  for (;;) {
    try {
      return await readyServer(kubeconfig, connect)
    } catch (cause) {
      if (systemClock.monotonic() > until) {
        const why = whyEnded() ?? messageOf(cause)
        throw new KubeNodeError(localErrors.KN1211_unreachable({ kubeconfig, why }), { cause })
      }
    }
    await systemClock.sleep(POLL_MS, signal)
  }
}

/** Throws unless the server answers that it is ready. */
async function readyServer(kubeconfig: string, connect: Connect): Promise<Connected> {
  const connection = await connect(kubeconfig)
  try {
    const { status } = await connection.client.raw({ method: 'GET', path: '/readyz', timeoutMs: ANSWER_WITHIN_MS })
    if (status === 200) return connection
    throw new Error(`its /readyz answers ${status}`)
  } catch (e) {
    connection.client.close()
    throw e
  }
}
