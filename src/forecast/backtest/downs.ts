// Finds nodes that were down for more than ten minutes without a repair. A node that leaves, joins, or is one of many that fell silent at once is not one that a rule missed.
import type { NodeView } from '#nodes/faults/node-view.ts'
import { findCondition } from '#kube/conditions.ts'

/** Shorter ones end before a repair would. */
const LONG_MS = 10 * 60_000

export interface Down {
  readonly node: string
  readonly uid: string
  readonly since: number
}

export class Downs {
  readonly #since = new Map<string, Down>()
  readonly #onLong: (down: Down) => void

  /** `onLong`: once for each time down, when it ends. */
  constructor(onLong: (down: Down) => void) {
    this.#onLong = onLong
  }

  take(name: string, view: NodeView | undefined, now: number): void {
    const before = this.#since.get(name)
    if (view !== undefined && isDown(view)) {
      if (before?.uid !== view.uid) this.#since.set(name, { node: name, uid: view.uid, since: now })
      return
    }
    if (before === undefined) return
    this.#since.delete(name)
    if (view?.standing.kind !== 'Leaving' && now - before.since > LONG_MS) this.#onLong(before)
  }

  /** What happened in a gap is unknown. */
  forget(): void {
    this.#since.clear()
  }

  end(now: number): void {
    for (const down of this.#since.values()) if (now - down.since > LONG_MS) this.#onLong(down)
  }
}

function isDown({ standing, node }: NodeView): boolean {
  if (standing.kind === 'Silent') return standing.isJoining !== true
  return standing.kind === 'Readable' && findCondition(node.status?.conditions, 'Ready')?.status === 'False'
}
