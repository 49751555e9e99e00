// The client process of the reflector benchmark: one informer over nodes, and what it cost.
import { HttpKubeClient } from '#kube/http/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { createInformer } from '#kube/informer.ts'
import { isOlder } from '#kube/resource-version.ts'
import { systemClock } from '#lib/system-clock.ts'
import { systemRandom } from '#lib/random.ts'
import { NODES } from './kube-bench-nodes.ts'

export type ClientOrder =
  | { readonly kind: 'start'; readonly config: ConnectionConfig }
  | { readonly kind: 'report'; readonly revision: number; readonly state: readonly string[] }

export interface ClientReport {
  readonly kind: 'report'
  readonly peakRssMb: number
  /** Objects that differ from the server's at the end, in the cache or in what a handler saw. */
  readonly lost: number
  /** The longest time from a write to the cache, reconnects included. */
  readonly blindMs: number
  readonly events: number
}

const GIVE_UP_MS = 30_000
const seen = new Map<string, string>()
let blindMs = 0
let events = 0

const informerOf = (config: ConnectionConfig) => {
  const informer = createInformer({
    client: new HttpKubeClient(config),
    type: NODES,
    clock: systemClock,
    random: systemRandom,
  })
  informer.addHandler((old, now) => {
    const name = (now ?? old)?.metadata.name ?? ''
    if (now === undefined) seen.delete(name)
    else seen.set(name, now.metadata.resourceVersion ?? '')
    if (!informer.isSynced) return
    events++
    const at = now?.metadata.annotations?.['bench/at']
    if (at !== undefined && at !== old?.metadata.annotations?.['bench/at'])
      blindMs = Math.max(blindMs, Date.now() - Number(at))
  })
  return informer
}

let informer: ReturnType<typeof informerOf> | undefined

/** The figures since the last report. */
async function report({ revision, state }: Extract<ClientOrder, { kind: 'report' }>): Promise<ClientReport> {
  const from = systemClock.monotonic()
  while (isOlder(informer?.resourceVersion, String(revision)) && systemClock.monotonic() - from < GIVE_UP_MS)
    await new Promise((resolve) => setTimeout(resolve, 20))
  const cached = (informer?.store.list() ?? []).map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
  const handled = [...seen].map(([name, rv]) => `${name}@${rv}`)
  const seenBlindMs = blindMs
  blindMs = 0
  return {
    kind: 'report',
    peakRssMb: process.resourceUsage().maxRSS / 1024,
    lost: differences(state, cached) + differences(state, handled),
    blindMs: seenBlindMs,
    events,
  }
}

function differences(want: readonly string[], got: readonly string[]): number {
  const have = new Set(got)
  const wanted = new Set(want)
  return want.filter((w) => !have.has(w)).length + got.filter((g) => !wanted.has(g)).length
}

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'report') {
    void report(order).then((r) => process.send?.(r))
    return
  }
  const from = systemClock.monotonic()
  informer = informerOf(order.config)
  void informer.run(new AbortController().signal)
  void informer.synced().then(() => process.send?.({ kind: 'synced', listMs: systemClock.monotonic() - from }))
})
process.send?.({ kind: 'ready' })
