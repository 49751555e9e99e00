// One hub with many clusters in which nothing changes: sync and console as programs, with one browser at the first page.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { syncProgramAt } from '#test/support/benches/sync-program.ts'
import { Browser } from '#test/support/console/plain-browser.ts'
import { startEmbedded } from '../apiserver/servers.ts'
import { serveConsole } from '../console/served.ts'
import { type Figures, rounded } from '../result.ts'
import { peakMb } from '../rollout/process-use.ts'
import { commitFleet, initFleet } from '../sync/fleet-repository.ts'
import { LightServers } from '../sync/light-servers.ts'
import { configOf, fleetCode, kubeconfigOf, prepareHub, succeeded } from '../sync/prepared-hub.ts'
import { oursOf, useAtRest } from './use.ts'

const HUB = 'hub'

export interface ClustersWish {
  readonly clusters: number
  readonly objects: number
  readonly settleS: number
  readonly seconds: number
}

export async function clustersAtRest({ clusters, objects, settleS, seconds }: ClustersWish): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'kubenode-bench-at-rest-'))
  const [hub, lights] = await Promise.all([startEmbedded(), LightServers.start()])
  const config = configOf(hub.target)
  const client = new HttpKubeClient(config)
  const { host, port, ...keys } = hub.target
  const sync = syncProgramAt({ kubeconfig: kubeconfigOf(`https://${host}:${port}`, keys), repository: dir })
  try {
    initFleet(dir)
    await prepareHub(client, dir, clusters, lights)
    sync.start()
    const from = performance.now()
    await succeeded(client, commitFleet(dir, fleetCode(clusters, objects, 1)))
    const deliveredS = (performance.now() - from) / 1_000
    const served = await serveConsole(HUB, config)
    try {
      const browser = new Browser(Number(new URL(served.link).port), undefined, { isCareless: true })
      await browser.open(served.link)
      const stream = browser.stream(['home'])
      await systemClock.sleep(settleS * 1_000)
      const programs = { hub: hub.target.pids, sync: [sync.pid()], console: [served.pid] }
      const figures = await useAtRest(programs, seconds)
      stream.close()
      return {
        ...figures,
        ...oursOf(figures, ['hub', 'sync', 'console']),
        sync_peak_mb: Math.round(peakMb(sync.pid()) ?? 0),
        delivered_s: rounded(deliveredS),
        clusters,
        objects,
      }
    } finally {
      await served.stop()
    }
  } finally {
    await sync.close()
    client.close()
    lights.stop()
    await hub.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}
