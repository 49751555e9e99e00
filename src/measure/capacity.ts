// What pools have and what is used of it: capacity and allocatable from Nodes, requests from Pods, use from the metrics API. Sums by pool, class and resource. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { LABELS } from '#api/names.ts'
import { parseQuantity } from '#lib/quantity.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { NO_POOL } from './kept-days.ts'

export interface ResourceSum {
  readonly pool: string
  readonly class: string
  readonly resource: string
  readonly value: number
}

/** What every node has; beside it the extended resources of hardware, such as nvidia.com/gpu. */
const COMMON: ReadonlySet<string> = new Set(['cpu', 'memory', 'pods', 'ephemeral-storage'])
/** A cluster with more kinds of hardware is not known; the others are left out. */
const MOST_EXTENDED = 8
const isExtended = (resource: string): boolean => resource.includes('/') && !resource.startsWith('hugepages-')

const NANOS = 1e9
const amountOf = (quantity: unknown): number => {
  const parsed = parseQuantity(quantity)
  return parsed === undefined ? 0 : Number(parsed.nanos) / NANOS
}

export interface NodePlace {
  readonly pool: string
  readonly class: string
}

/** Machine first: a Node's labels may lag behind. */
export function placesOfNodes(machines: readonly Machine[], nodes: readonly Node[]): ReadonlyMap<string, NodePlace> {
  const byNode = new Map(machines.flatMap((m) => (m.status?.nodeRef === undefined ? [] : [[m.status.nodeRef.name, m]])))
  return new Map(
    nodes.map(({ metadata }) => {
      const machine = byNode.get(metadata.name ?? '')
      return [
        metadata.name ?? '',
        {
          pool: machine?.spec.pool ?? metadata.labels?.[LABELS.pool] ?? NO_POOL,
          class: machine?.spec.class ?? metadata.labels?.[LABELS.class] ?? NO_POOL,
        },
      ] as const
    }),
  )
}

class Sums {
  readonly #sums = new Map<string, ResourceSum>()
  readonly #extended = new Set<string>()

  add({ pool, class: hardware }: NodePlace, resource: string, value: number): void {
    if (!COMMON.has(resource) && !this.#isKnown(resource)) return
    const key = JSON.stringify([pool, hardware, resource])
    const before = this.#sums.get(key)
    this.#sums.set(key, { pool, class: hardware, resource, value: (before?.value ?? 0) + value })
  }

  get all(): readonly ResourceSum[] {
    return [...this.#sums.values()]
  }

  #isKnown(resource: string): boolean {
    if (!isExtended(resource)) return false
    if (this.#extended.size < MOST_EXTENDED) this.#extended.add(resource)
    return this.#extended.has(resource)
  }
}

export function nodeResources(
  nodes: readonly Node[],
  places: ReadonlyMap<string, NodePlace>,
  which: 'capacity' | 'allocatable',
): readonly ResourceSum[] {
  const sums = new Sums()
  for (const node of nodes) {
    const place = places.get(node.metadata.name ?? '')
    if (place === undefined) continue
    for (const [resource, quantity] of Object.entries(node.status?.[which] ?? {}))
      sums.add(place, resource, amountOf(quantity))
  }
  return sums.all
}

type Resources = Readonly<Record<string, unknown>> | undefined
type Container = { readonly resources?: { readonly requests?: Resources }; readonly restartPolicy?: string }

/** As the scheduler counts: containers together, or the largest init container where that is more; sidecars count beside the containers. */
export function requestsOf({ spec }: Pod): ReadonlyMap<string, number> {
  const sum = new Map<string, number>()
  const most = new Map<string, number>()
  const each = (containers: readonly Container[] | undefined, add: (resource: string, value: number) => void) => {
    for (const { resources } of containers ?? [])
      for (const [name, quantity] of Object.entries(resources?.requests ?? {})) add(name, amountOf(quantity))
  }
  const init: readonly Container[] = spec?.initContainers ?? []
  const plus = (name: string, value: number): void => void sum.set(name, (sum.get(name) ?? 0) + value)
  each(spec?.containers, plus)
  each(
    init.filter((c) => c.restartPolicy === 'Always'),
    plus,
  )
  each(
    init.filter((c) => c.restartPolicy !== 'Always'),
    (name, value) => {
      most.set(name, Math.max(most.get(name) ?? 0, value))
    },
  )
  for (const [name, value] of most) sum.set(name, Math.max(sum.get(name) ?? 0, value))
  for (const [name, quantity] of Object.entries(spec?.overhead ?? {})) plus(name, amountOf(quantity))
  return sum
}

const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed'])

/** By node, so that pods can be read page by page and forgotten. */
export class PodRequests {
  readonly #byNode = new Map<string, Map<string, number>>()

  add(pod: Pod): void {
    const node = pod.spec?.nodeName
    if (node === undefined || node === '' || ENDED.has(pod.status?.phase ?? '')) return
    const sums = this.#byNode.get(node) ?? new Map<string, number>()
    this.#byNode.set(node, sums)
    sums.set('pods', (sums.get('pods') ?? 0) + 1)
    for (const [name, value] of requestsOf(pod)) sums.set(name, (sums.get(name) ?? 0) + value)
  }

  sums(places: ReadonlyMap<string, NodePlace>): readonly ResourceSum[] {
    return sumsByPlace(this.#byNode, places)
  }
}

export function sumsByPlace(
  byNode: ReadonlyMap<string, ReadonlyMap<string, number>>,
  places: ReadonlyMap<string, NodePlace>,
): readonly ResourceSum[] {
  const sums = new Sums()
  for (const [node, resources] of byNode) {
    const place = places.get(node)
    if (place !== undefined) for (const [name, value] of resources) sums.add(place, name, value)
  }
  return sums.all
}

/** An item of a NodeMetricsList of metrics.k8s.io. */
export interface NodeMetrics {
  readonly metadata: { readonly name?: string }
  readonly usage?: Readonly<Record<string, unknown>>
}

export const usageByNode = (items: readonly NodeMetrics[]): ReadonlyMap<string, ReadonlyMap<string, number>> =>
  new Map(
    items.map(({ metadata, usage }) => [
      metadata.name ?? '',
      new Map(Object.entries(usage ?? {}).map(([name, quantity]) => [name, amountOf(quantity)] as const)),
    ]),
  )
