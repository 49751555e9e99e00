// A whole real cluster of one node, on a sealed host: control plane, containerd, kubelet, pods on a bridge, Services. Ends with `stop`, and with the test.
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { isObject } from '#lib/json.ts'
import { until } from '#test/support/tools/processes.ts'
import { namesIn, serveNames } from './cluster-names.ts'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts'
import { type RealNode, startNode, whyNoNode } from './node.ts'
import { whyNoPrograms } from './programs.ts'
import { type SealedHost, startSealedHost } from './sealed-host.ts'
import { keepServiceRules } from './service-rules.ts'

export const NODE_NAME = 'real-1'
const READY_WITHIN_MS = 300_000

export interface RealCluster extends ControlPlane {
  readonly host: SealedHost
  readonly node: RealNode
  readonly admin: KubeClient
}

export const whyNoCluster = (): string | undefined => whyNoPrograms() ?? whyNoNode()

export interface ClusterOptions {
  /** False: nothing leads Services to their pods. */
  readonly leads?: boolean
  readonly flags?: ControlPlaneOptions['flags']
}

export async function startCluster({ leads = true, flags = {} }: ClusterOptions = {}): Promise<RealCluster> {
  const host = await startSealedHost()
  const ends: (() => Promise<void>)[] = [() => host.stop()]
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end()
  }
  try {
    const plane = await startControlPlane({ place: host, flags })
    ends.push(() => plane.stop())
    const { cert, key } = plane
    const admin = new HttpKubeClient({
      server: plane.url,
      ca: { data: plane.ca },
      clientCertificate: { cert: { data: cert }, key: { data: key } },
    })
    ends.push(async () => admin.close())
    const names = await serveNames(host, namesIn(admin))
    ends.push(() => names.stop())
    const node = await startNode(host, plane, NODE_NAME)
    ends.push(() => node.stop())
    // Ends first: it asks an API server that ends with the node.
    const rules = leads ? keepServiceRules(host, admin) : undefined
    ends.push(async () => rules?.stop())
    await until('the node is ready', () => isReady(admin), READY_WITHIN_MS).catch((e: unknown) => {
      throw new Error(`${String(e)}\n${node.tail('kubelet')}`)
    })
    return { ...plane, host, node, admin, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function isReady(admin: KubeClient): Promise<true | undefined> {
  const node = await admin.get(coreKind('Node'), { name: NODE_NAME })
  const status = isObject(node?.['status']) ? node['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
  return conditions.some((c) => c['type'] === 'Ready' && c['status'] === 'True') ? true : undefined
}
