// Facts about other nodes for a job's rule. Kept current from the caches only while a rule reads them.
import type { Node } from '#nodes/objects.ts'
import type { NodeView } from '#nodes/faults/node-view.ts'
import { Peers } from '#nodes/faults/peers.ts'
import type { CompiledRule, Term } from '#policy/rule.ts'
import type { JobCaches } from './caches.ts'

const NAMES = new WeakMap<CompiledRule, ReadonlySet<string>>()

/** The facts that a rule reads. */
export function namesOf(rule: CompiledRule): ReadonlySet<string> {
  const known = NAMES.get(rule) ?? new Set(factsOf(rule.root))
  NAMES.set(rule, known)
  return known
}

function factsOf(term: Term): readonly string[] {
  if (term.kind === 'not') return factsOf(term.child)
  if (term.kind !== 'leaf') return term.children.flatMap(factsOf)
  return [term.place.fact, ...(term.against.kind === 'fact' ? [term.against.place.fact] : [])]
}

export class PeerFacts {
  readonly #caches: Pick<JobCaches, 'nodes' | 'machines'>
  readonly #viewOf: (node: Node) => NodeView
  readonly #changed = new Set<string>()
  readonly #uids = new Map<string, string>()
  #peers: Peers | undefined

  constructor(caches: Pick<JobCaches, 'nodes' | 'machines'>, viewOf: (node: Node) => NodeView) {
    this.#caches = caches
    this.#viewOf = viewOf
    const mark = (name: string | undefined) => {
      if (this.#peers !== undefined && name !== undefined) this.#changed.add(name)
    }
    caches.nodes.onChange((before, now) => mark((now ?? before)?.metadata.name))
    caches.machines.onChange((before, now) => {
      mark(before?.status?.nodeRef?.name)
      mark(now?.status?.nodeRef?.name)
    })
  }

  /** Everything on the first call, only changes on later calls. */
  now(): Peers {
    const peers = this.#peers ?? new Peers()
    const names =
      this.#peers === undefined ? this.#caches.nodes.list().map((n) => n.metadata.name ?? '') : this.#changed
    this.#peers = peers
    for (const name of names) {
      const node = this.#caches.nodes.get(name)
      const before = this.#uids.get(name)
      if (before !== undefined && before !== node?.metadata.uid) peers.remove(before)
      if (node === undefined) this.#uids.delete(name)
      else {
        this.#uids.set(name, node.metadata.uid ?? '')
        peers.put(this.#viewOf(node))
      }
    }
    this.#changed.clear()
    return peers
  }
}
