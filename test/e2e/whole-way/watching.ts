// Watches the machines of a cluster from the first to the last moment of a test, so that budgets can be judged over all that happened.
import { readFileSync } from 'node:fs'
import { machine } from '#api/kinds/machine.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { createInformer } from '#kube/informer.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { systemRandom } from '#lib/random.ts'

export interface Observer {
  readonly client: HttpKubeClient
  /** The most machines that were between two versions at one time. */
  mostSwitching(): number
  /** Every version that a component was seen to run, over all machines. */
  versionsSeen(component: string): ReadonlySet<string>
  /** Machines now. */
  machines(): readonly Machine[]
  stop(): Promise<void>
}

/** A machine that installs for the first time disrupts no workload. */
const isBetween = (m: Machine): boolean =>
  (m.status?.components ?? []).some((c) => c.version !== undefined && isSwitching(c.state))

export function observe(kubeconfig: string): Observer {
  const { config } = parseSafeKubeconfig(readFileSync(kubeconfig, 'utf8'), kubeconfig)
  const client = new HttpKubeClient(config)
  const informer = createInformer<Machine>({
    client,
    type: machine,
    clock: systemClock,
    random: systemRandom,
    startSpreadMs: 0,
  })
  const seen = new Map<string, Set<string>>()
  let most = 0
  informer.addHandler((_, now) => {
    most = Math.max(most, informer.store.list().filter(isBetween).length)
    for (const c of now?.status?.components ?? [])
      if (c.version !== undefined) seen.set(c.name, (seen.get(c.name) ?? new Set()).add(c.version))
  })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  return {
    client,
    mostSwitching: () => most,
    versionsSeen: (component) => seen.get(component) ?? new Set(),
    machines: () => informer.store.list(),
    stop: async () => {
      stop.abort()
      await running
      client.close()
    },
  }
}
