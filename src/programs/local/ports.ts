// Ports of the API servers: free ones are chosen once and remembered; a clear error names the port when another program has taken it since.
import { KubeNodeError } from '#lib/errors.ts'
import { freePort } from '#lib/free-port.ts'
import { localErrors } from './local-errors.ts'

const LOOPBACK = '127.0.0.1'

export async function portsFor(
  clusters: readonly string[],
  known: Readonly<Record<string, number>> = {},
): Promise<Record<string, number>> {
  const ports: Record<string, number> = {}
  for (const name of clusters) {
    const before = known[name]
    if (before !== undefined && (await freePort(before)) === undefined)
      throw new KubeNodeError(localErrors.KN1206({ cluster: name, port: before }))
    const port = before ?? (await freePort())
    if (port === undefined) throw new KubeNodeError(localErrors.KN1206_none({ cluster: name, host: LOOPBACK }))
    ports[name] = port
  }
  return ports
}
