// A console over an embedded API server.
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { startConsole, type RunningConsole } from '#console/server/console.ts'
import type { Page } from '#console/server/page-files.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installedStorage } from '#test/support/servers/installed.ts'

const FILE = { type: 'text/html; charset=utf-8', body: Buffer.from('<!doctype html>'), gzip: Buffer.from('') }

/** The page has tests of its own. */
export const NO_PAGE: Page = {
  digest: '0123456789abcdef',
  html: FILE,
  base: '',
  files: new Map([['page/main.ts', { ...FILE, type: 'text/javascript' }]]),
  policy: "default-src 'none'",
}

export interface ConsoleWorld {
  readonly server: RunningServer
  readonly admin: KubeClient
  /** A client of the server as another user. */
  readonly clientAs: (user: string, groups?: readonly string[]) => HttpKubeClient
  /** A console for this user; ends with the world. */
  readonly console: (
    clients: ReadonlyMap<string, KubeClient>,
    port?: number,
    page?: Page,
    readsWhenUsed?: boolean,
  ) => Promise<RunningConsole>
  readonly stop: () => Promise<void>
}

export async function consoleWorld(): Promise<ConsoleWorld> {
  const server = await startEmbedded({ storage: await installedStorage() })
  const own = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  const clients: HttpKubeClient[] = []
  const clientOf = (config: ConstructorParameters<typeof HttpKubeClient>[0]): HttpKubeClient => {
    const client = new HttpKubeClient(config)
    clients.push(client)
    return client
  }
  const admin = clientOf(own)
  const consoles: RunningConsole[] = []
  return {
    server,
    admin,
    clientAs: (user, groups = []) => clientOf({ ...own, impersonate: { user, groups } }),
    console: async (of, port = 0, page = NO_PAGE, readsWhenUsed = false) => {
      const running = await startConsole({
        clients: of,
        page,
        readsWhenUsed,
        version: '0.0.0',
        host: '127.0.0.1',
        port,
        names: [],
        clock: systemClock,
        random: seededRandom(1),
        log: silentLogger,
      })
      consoles.push(running)
      return running
    },
    stop: async () => {
      await Promise.all(consoles.map((c) => c.stop()))
      for (const client of clients) client.close()
      await server.stop()
    },
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
