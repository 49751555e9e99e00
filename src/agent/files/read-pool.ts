// How much of what hosts without an agent answer is in memory at once, over all sessions of this process. Each session has a share of its own; what it reads
// beyond that comes from a pool, so that hosts that send much cannot fill the memory together, and take nothing from hosts that send little.

/** A round reads some hundred KB. */
const OWN_BYTES = 2 * 2 ** 20
/** A few hosts with many components and long definitions. With twenty-five sessions, all of them hold at most 82 MB. */
const POOL_BYTES = 32 * 2 ** 20
/** A character takes two bytes once one of a text is no Latin letter. */
const CHAR_BYTES = 2
/** An empty list of JSON is two characters, and 16 to 32 bytes once it is parsed. */
const PART_BYTES = 32
/** Each begins or ends a value: [ { , : */
const PARTS: ReadonlySet<number> = new Set(Buffer.from('[{,:'))
/** By byte, 1 for those: every byte of every answer is asked about. */
const IS_PART = Uint8Array.from({ length: 256 }, (_, byte) => Number(PARTS.has(byte)))

export interface SessionReads {
  /** Counts what was read from a path, in place of what was read there before. False: it is too much. */
  hold(path: string, text: Uint8Array): boolean
  /** The session is over. */
  release(): void
}

export class ReadPool {
  #left = POOL_BYTES

  session(): SessionReads {
    const held = new Map<string, number>()
    let all = 0
    const fromPool = (bytes: number): number => Math.max(0, bytes - OWN_BYTES)
    return {
      hold: (path, text) => {
        const cost = costOf(text)
        const next = all - (held.get(path) ?? 0) + cost
        const more = fromPool(next) - fromPool(all)
        if (more > this.#left) return false
        this.#left -= more
        held.set(path, cost)
        all = next
        return true
      },
      release: () => {
        this.#left += fromPool(all)
        held.clear()
        all = 0
      },
    }
  }
}

/** As the text and as what it is parsed to. */
function costOf(text: Uint8Array): number {
  let parts = 0
  for (const byte of text) parts += IS_PART[byte] ?? 0
  return CHAR_BYTES * text.length + PART_BYTES * parts
}
