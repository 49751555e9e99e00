// Serves the console on this machine, for `kubenode console` and for the local fleet.
import { type RunningConsole, startConsole } from '#console/server/console.ts'
import type { FleetRepository } from '#console/server/fleet-repository.ts'
import { readPage } from '#console/server/page-files.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { lineLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { VERSION } from '#lib/program-version.ts'

const LOOPBACK = '127.0.0.1'

export interface ServeOptions {
  /** Keyed by the name that the page shows. */
  readonly clients: ReadonlyMap<string, KubeClient>
  readonly port: number
  readonly repository?: FleetRepository | undefined
  /** The folder of a recorded history of these clusters. */
  readonly history?: string | undefined
  readonly readsWhenUsed?: boolean
  /** For the user at the terminal. */
  readonly print: (line: string) => void
  /** Called with the next link once one was used. */
  readonly printLink: (link: string) => void
}

/** Each use of a link prints the next one, for another browser. */
export async function serveConsole({ print, printLink, ...options }: ServeOptions): Promise<RunningConsole> {
  const running: RunningConsole = await startConsole({
    ...options,
    page: readPage(),
    version: VERSION,
    host: LOOPBACK,
    names: [],
    clock: systemClock,
    random: systemRandom,
    log: lineLogger({ write: print }, 'warn'),
    onLinkUsed: () => printLink(running.newLink()),
  })
  return running
}
