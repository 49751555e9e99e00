// Ports of the API servers: free ones are chosen once and remembered; a clear error names the port when another program has taken it since.
import { createServer } from 'node:net'
import { KubeNodeError } from '#lib/errors.ts'
import { localErrors } from './local-errors.ts'

const LOOPBACK = '127.0.0.1'

/** The port that was got, or undefined when it is taken. */
const tryPort = (port: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen(port, LOOPBACK, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })

export async function portsFor(
  clusters: readonly string[],
  known: Readonly<Record<string, number>> = {},
): Promise<Record<string, number>> {
  const ports: Record<string, number> = {}
  for (const name of clusters) {
    const before = known[name]
    if (before !== undefined && (await tryPort(before)) === undefined)
      throw new KubeNodeError(localErrors.KN1206({ cluster: name, port: before }))
    const port = before ?? (await tryPort(0))
    if (port === undefined) throw new KubeNodeError(localErrors.KN1216({ cluster: name, host: LOOPBACK }))
    ports[name] = port
  }
  return ports
}
