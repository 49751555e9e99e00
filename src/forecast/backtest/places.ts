// In which zone and rack each node is, and how many machines are there.
import { LABELS } from '#api/names.ts'
import type { NodeView } from '#nodes/faults/node-view.ts'
import type { Place } from './side.ts'
import type { PlaceKind } from './sums.ts'

type OfNode = Readonly<Record<PlaceKind, string>>

export class Places {
  readonly #nodes = new Map<string, OfNode>()
  readonly #counts: Readonly<Record<PlaceKind, Map<string, number>>> = { zone: new Map(), rack: new Map() }

  get nodes(): number {
    return this.#nodes.size
  }

  put(name: string, view: NodeView | undefined): void {
    const before = this.#nodes.get(name)
    const now = view && placesOf(view)
    if (before !== undefined && now !== undefined && before.zone === now.zone && before.rack === now.rack) return
    if (before !== undefined) this.#count(before, -1)
    if (now === undefined) this.#nodes.delete(name)
    else {
      this.#nodes.set(name, now)
      this.#count(now, 1)
    }
  }

  /** Undefined if the node has none of this kind. */
  of(node: string, kind: PlaceKind): Place | undefined {
    const name = this.#nodes.get(node)?.[kind] ?? ''
    return name === '' ? undefined : { name, machines: this.#counts[kind].get(name) ?? 0 }
  }

  #count(of: OfNode, by: 1 | -1): void {
    for (const kind of ['zone', 'rack'] as const) {
      const count = (this.#counts[kind].get(of[kind]) ?? 0) + by
      if (count === 0) this.#counts[kind].delete(of[kind])
      else this.#counts[kind].set(of[kind], count)
    }
  }
}

function placesOf({ node, machine }: NodeView): OfNode {
  const labels = node.metadata.labels ?? {}
  return {
    zone: machine?.spec.zone ?? labels[LABELS.zone] ?? '',
    rack: machine?.spec.rack ?? labels[LABELS.rack] ?? '',
  }
}
