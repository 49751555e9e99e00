// Which commits are between the last verified one and a new one. Reads only parents. Every walk is bounded, and reaching the bound is a valid answer.

export interface Links {
  readonly parents: readonly string[]
  /** The committer's time: only used for reading order, never as proof. */
  readonly time: number
}
export type ReadLinks = (id: string) => Links | Promise<Links>

export type Range =
  | { readonly kind: 'Range'; readonly commits: readonly string[] }
  /** `from` is not an ancestor, on the line that counts. */
  | { readonly kind: 'Unrelated' }
  | { readonly kind: 'TooLong' }

/** Years of a busy repository; a newer anchor shortens it. */
const MAX_RANGE = 50_000
/** Limit of links, per commit that a walk may read: merges have two parents, and a hostile commit names 20,000. */
export const LINKS_EACH = 4

/** The first-parent line after `from`, oldest first. */
export async function firstParentRange(from: string, to: string, read: ReadLinks, most = MAX_RANGE): Promise<Range> {
  const commits: string[] = []
  let links = 0
  for (let id: string | undefined = to; id !== from;) {
    if (id === undefined) return { kind: 'Unrelated' }
    if (commits.length >= most || links > LINKS_EACH * most) return { kind: 'TooLong' }
    commits.push(id)
    const { parents }: Links = await read(id)
    links += parents.length
    id = parents[0]
  }
  return { kind: 'Range', commits: commits.reverse() }
}

/** After the last new commit, keep reading this many old ones, because committers' clocks differ. */
const SLOP = 256

/** Everything that `to` contains and `from` does not, parents before children. */
export async function wholeRange(from: string, to: string, read: ReadLinks, most = MAX_RANGE): Promise<Range> {
  if (from === to) return { kind: 'Range', commits: [] }
  const old = new Set<string>([from])
  const links = new Map<string, Links>()
  const queue = new NewestFirst()
  let [fresh, slop, isRelated, linked] = [0, SLOP, false, 0]
  const add = async (id: string) => {
    if (links.has(id)) return
    const { parents, time } = await read(id)
    // Keep nothing else of it: a commit may have a message of a megabyte.
    links.set(id, { parents, time })
    linked += parents.length
    queue.push(id, time)
    if (!old.has(id)) fresh++
  }
  await add(to)
  await add(from)
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (links.size > most || linked > LINKS_EACH * most) return { kind: 'TooLong' }
    const isOld = old.has(id)
    if (!isOld) fresh--
    const { parents } = links.get(id) as Links
    for (const parent of parents) {
      if (!isOld && parent === from) isRelated = true
      if (isOld) fresh -= markOld(parent, old, links, queue)
      await add(parent)
    }
    slop = fresh > 0 ? SLOP : slop - 1
    if (slop <= 0) break
  }
  if (!isRelated) return { kind: 'Unrelated' }
  return { kind: 'Range', commits: parentsFirst(to, old, links) }
}

/** Marks it and everything read before it as old; returns how many waiting commits were new until now. */
function markOld(id: string, old: Set<string>, links: ReadonlyMap<string, Links>, queue: NewestFirst): number {
  let waiting = 0
  const stack = [id]
  for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
    if (old.has(each)) continue
    old.add(each)
    if (queue.has(each)) waiting++
    stack.push(...(links.get(each)?.parents ?? []))
  }
  return waiting
}

function parentsFirst(to: string, old: ReadonlySet<string>, links: ReadonlyMap<string, Links>): readonly string[] {
  const out: string[] = []
  const done = new Set<string>()
  const stack: { readonly id: string; isOpened: boolean }[] = [{ id: to, isOpened: false }]
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (done.has(top.id) || old.has(top.id)) stack.pop()
    else if (top.isOpened) {
      done.add(top.id)
      out.push(top.id)
      stack.pop()
    } else {
      top.isOpened = true
      const parents = (links.get(top.id)?.parents ?? []).map((id) => ({ id, isOpened: false }))
      // The first parent and everything before it come first: each commit on its line follows what it merged.
      stack.push(...parents.reverse())
    }
  }
  return out
}

/** More steps mean histories that diverged long ago. */
const MAX_ANCESTORS = 20_000
const MAX_BASES = 8

/** The one newest commit that both contain. Undefined when there is none, or several, or finding it takes too long. */
export async function mergeBase(
  a: string,
  b: string,
  read: ReadLinks,
  most = MAX_ANCESTORS,
): Promise<string | undefined> {
  const common = await newestCommon(a, b, read, most)
  if (common === undefined || common.length > MAX_BASES) return undefined
  if (common.length < 2) return common[0]
  const newest: string[] = []
  for (const id of common) {
    const others = common.filter((o) => o !== id)
    const below = await ancestors(others, read, most)
    if (below === undefined) return undefined
    if (!below.has(id)) newest.push(id)
  }
  return newest.length === 1 ? newest[0] : undefined
}

const [OF_A, OF_B, BELOW_COMMON] = [1, 2, 4] as const
const OF_BOTH = OF_A | OF_B

/**
 * Every common commit that is not below another common one; possibly a few more where dates are wrong. Reads newest first, so that the common history is
 * not read to its beginning: a repository may have far more history than two branches differ in.
 */
async function newestCommon(
  a: string,
  b: string,
  read: ReadLinks,
  most: number,
): Promise<readonly string[] | undefined> {
  const marks = new Map<string, number>()
  const queue = new NewestFirst()
  /** In the queue, and not known to be below a common commit. */
  let open = 0
  const mark = async (id: string, more: number) => {
    const before = marks.get(id) ?? 0
    const now = before | more
    if (now === before) return
    marks.set(id, now)
    const isOpen = (now & BELOW_COMMON) === 0
    if (!queue.has(id)) queue.push(id, (await read(id)).time)
    else if ((before & BELOW_COMMON) === 0) open--
    if (isOpen) open++
  }
  await mark(a, OF_A)
  await mark(b, OF_B)
  const found = new Set<string>()
  while (open > 0) {
    const id = queue.pop() as string
    const own = marks.get(id) ?? 0
    if ((own & BELOW_COMMON) === 0) open--
    const isCommon = (own & OF_BOTH) === OF_BOTH
    if (isCommon) found.add(id)
    for (const parent of (await read(id)).parents) await mark(parent, isCommon ? own | BELOW_COMMON : own)
    if (marks.size > most) return undefined
  }
  return [...found].filter((id) => ((marks.get(id) ?? 0) & BELOW_COMMON) === 0)
}

/** Includes the commits themselves; undefined when there are more than `most`. */
async function ancestors(
  of: readonly string[],
  read: ReadLinks,
  most: number,
): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>()
  const stack = [...of]
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (found.has(id)) continue
    found.add(id)
    if (found.size > most || stack.length > LINKS_EACH * most) return undefined
    stack.push(...(await read(id)).parents)
  }
  return found
}

/** A binary heap by time. */
class NewestFirst {
  readonly #heap: { readonly id: string; readonly time: number }[] = []
  readonly #waiting = new Set<string>()

  has(id: string): boolean {
    return this.#waiting.has(id)
  }

  push(id: string, time: number): void {
    this.#waiting.add(id)
    const heap = this.#heap
    let at = heap.push({ id, time }) - 1
    for (let up = (at - 1) >> 1; at > 0 && this.#isBefore(at, up); up = (at - 1) >> 1) {
      this.#swap(at, up)
      at = up
    }
  }

  pop(): string | undefined {
    const heap = this.#heap
    const [top] = heap
    const last = heap.pop()
    if (top === undefined || last === undefined) return undefined
    if (heap.length > 0) {
      heap[0] = last
      this.#sink()
    }
    this.#waiting.delete(top.id)
    return top.id
  }

  #sink(): void {
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = right < this.#heap.length && this.#isBefore(right, left) ? right : left
      if (child >= this.#heap.length || !this.#isBefore(child, at)) return
      this.#swap(at, child)
      at = child
    }
  }

  #isBefore(a: number, b: number): boolean {
    return (this.#heap[a]?.time ?? 0) > (this.#heap[b]?.time ?? 0)
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]]
    if (x === undefined || y === undefined) return
    this.#heap[a] = y
    this.#heap[b] = x
  }
}
