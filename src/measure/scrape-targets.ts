// Where Prometheus finds the agents of a cluster, and what it should call them: one target a Machine that has a Node with an address.
import type { Machine } from '#api/kinds/machine.ts'

export interface NodeAddresses {
  readonly metadata: { readonly name?: string }
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[]
  }
}

export interface ScrapeTarget {
  readonly host: string
  readonly labels: Readonly<Record<string, string>>
}

export interface TargetsFound {
  readonly targets: readonly ScrapeTarget[]
  /** Machines that cannot be scraped, each with the reason. */
  readonly left: readonly { readonly machine: string; readonly why: string }[]
}

/** A kubelet is reached by the same one first. */
const ADDRESS_TYPES = ['InternalIP', 'ExternalIP', 'InternalDNS', 'Hostname'] as const
const PLACES = ['pool', 'zone', 'rack', 'class'] as const

export function scrapeTargets(
  cluster: string,
  machines: readonly Machine[],
  nodes: readonly NodeAddresses[],
): TargetsFound {
  const byName = new Map(nodes.map((n) => [n.metadata.name ?? '', n]))
  const targets: ScrapeTarget[] = []
  const left: { machine: string; why: string }[] = []
  for (const machine of machines.toSorted(inOrder)) {
    const { name = '' } = machine.metadata
    const node = machine.status?.nodeRef?.name
    const host = addressOf(machine, node === undefined ? undefined : byName.get(node))
    if (machine.spec.channel === 'Observe') left.push({ machine: name, why: 'it is observed only and has no agent' })
    else if (node === undefined) left.push({ machine: name, why: 'it has no Node yet' })
    else if (host === undefined) left.push({ machine: name, why: `Node ${node} has no address` })
    else targets.push({ host, labels: labelsOf(cluster, machine, node) })
  }
  return { targets, left }
}

const inOrder = (a: Machine, b: Machine): number => (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')

function addressOf({ spec }: Machine, node: NodeAddresses | undefined): string | undefined {
  const addresses = node?.status?.addresses ?? []
  const found = ADDRESS_TYPES.map((type) => addresses.find((a) => a.type === type)?.address)
  return found.find((address) => address !== undefined) ?? spec.address
}

function labelsOf(cluster: string, { spec, metadata }: Machine, node: string): Readonly<Record<string, string>> {
  const places = PLACES.flatMap((place) => {
    const value = spec[place]
    return value === undefined ? [] : [[place, value] as const]
  })
  return { cluster, node, machine: metadata.name ?? '', ...Object.fromEntries(places) }
}

/** As a URL has it: IPv6 in brackets. */
export const targetText = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
