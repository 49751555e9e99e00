// A provider as another program would serve it: through a Unix socket, and seen by the client of kubenode-provider/v1.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import type { Provider } from '#providers/port.ts'
import { RemoteProvider } from '#providers/remote/provider.ts'
import { serveProvider } from '#providers/remote/server.ts'

export interface OverSocket {
  readonly provider: RemoteProvider
  readonly path: string
  /** The program ends and another one serves this provider in its place. */
  replacedBy(provider: Provider): Promise<void>
  /** The program ends. */
  kill(): Promise<void>
  close(): Promise<void>
}

const tools = { clock: systemClock, log: silentLogger }

export async function overSocket(provider: Provider): Promise<OverSocket> {
  const dir = await mkdtemp(join(tmpdir(), 'remote-'))
  const path = join(dir, 's')
  let served = await serveProvider(provider, { kind: 'Socket', path }, tools)
  const client = new RemoteProvider({ name: provider.name, place: { kind: 'Socket', path }, ...tools })
  await client.connect()
  return {
    provider: client,
    path,
    replacedBy: async (other) => {
      await served.close()
      served = await serveProvider(other, { kind: 'Socket', path }, tools)
    },
    kill: () => served.close(),
    close: async () => {
      client.close()
      await served.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
