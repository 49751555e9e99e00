// The role cluster on the hub of a sync bench, with real embedded control planes and KubeNode's addons in each.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { clusterModule } from '#controllers/cluster/reconcile.ts'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { embeddedEngine } from '#programs/planes/embedded-engine.ts'
import { embeddedRules } from '#programs/run/embedded-rules.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { partsOf } from '#runtime/module.ts'
import { manifests } from '#test/support/servers/installed.ts'

export interface HostedPlanes {
  /** A client of a control plane, as its administrator. */
  readonly admin: (cluster: string) => Promise<HttpKubeClient>
  readonly close: () => Promise<void>
}

export async function hostedPlanes(client: KubeClient): Promise<HostedPlanes> {
  const root = mkdtempSync(join(tmpdir(), 'kubenode-hosted-'))
  const host = new EmbeddedHost({ root, clock: systemClock, engine: embeddedEngine({ rules: embeddedRules() }) })
  await host.open()
  const own = { client, clock: systemClock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ ...own, startSpreadMs: 0 })
  const { kinds, rest } = manifests()
  const running = clusterModule.setup({
    ...own,
    informers,
    metrics: createMetrics(),
    events: createEventRecorder({ client, clock: systemClock, controller: 'kubenode.io/cluster', instance: 't' }),
    hosts: [host],
    connect: (config) => new HttpKubeClient(config),
    addons: async () => addonsOf('1', kinds, rest),
  })
  informers.start()
  await informers.synced()
  const parts = partsOf(running, { controller: (c) => c })
  for (const part of parts) await part.start(new AbortController().signal)
  const opened: HttpKubeClient[] = []
  return {
    admin: async (cluster) => {
      const identity = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
      const text = (await host.kubeconfig(`${SYSTEM_NAMESPACE}.${cluster}`, identity)) ?? ''
      const made = new HttpKubeClient(parseSafeKubeconfig(text, cluster).config)
      opened.push(made)
      return made
    },
    close: async () => {
      for (const part of parts.toReversed()) await part.stop(5_000)
      await informers.stop()
      for (const each of opened) each.close()
      await host.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
