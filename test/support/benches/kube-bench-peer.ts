// The peer of the reflector benchmark: client-node's own informer over the same nodes. It stops on an error, so it is started again each time.
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import type { ConnectionConfig, Source } from '#kube/http/connection.ts'
import type { ClientOrder, ClientReport } from './kube-bench-reflector.ts'

function kubeConfigOf(config: ConnectionConfig): KubeConfig {
  const data = (source: Source | undefined): string =>
    Buffer.from(source !== undefined && 'data' in source ? source.data : '').toString('base64')
  const kc = new KubeConfig()
  kc.loadFromClusterAndUser(
    { name: 'bench', server: config.server, caData: data(config.ca), skipTLSVerify: false },
    { name: 'bench', certData: data(config.clientCertificate?.cert), keyData: data(config.clientCertificate?.key) },
  )
  return kc
}

const cached = new Map<string, string>()
let blindMs = 0
let events = 0
let synced = false

async function start(config: ConnectionConfig): Promise<void> {
  const kc = kubeConfigOf(config)
  const api = kc.makeApiClient(CoreV1Api)
  const from = performance.now()
  const informer = makeInformer(kc, '/api/v1/nodes', () => api.listNode())
  const put = (node: {
    metadata?: { name?: string; resourceVersion?: string; annotations?: Record<string, string> }
  }) => {
    cached.set(node.metadata?.name ?? '', node.metadata?.resourceVersion ?? '')
    if (!synced) return
    events++
    const at = node.metadata?.annotations?.['bench/at']
    if (at !== undefined) blindMs = Math.max(blindMs, Date.now() - Number(at))
  }
  informer.on('add', put)
  informer.on('update', put)
  informer.on('delete', (node) => cached.delete(node.metadata?.name ?? ''))
  informer.on('error', () => setTimeout(() => void informer.start(), 100))
  await informer.start()
  synced = true
  process.send?.({ kind: 'synced', listMs: performance.now() - from })
}

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'start') {
    void start(order.config)
    return
  }
  setTimeout(() => {
    const lost =
      order.state.filter((s) => cached.get(s.slice(0, s.lastIndexOf('@'))) !== s.slice(s.lastIndexOf('@') + 1)).length +
      Math.max(0, cached.size - order.state.length)
    const report: ClientReport = {
      kind: 'report',
      peakRssMb: process.resourceUsage().maxRSS / 1024,
      lost,
      blindMs,
      events,
    }
    blindMs = 0
    process.send?.(report)
  }, 5_000)
})
process.send?.({ kind: 'ready' })
