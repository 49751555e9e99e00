// Batches of changes that follow from their number, so that what is found on a disk can be held against what was acknowledged.
import type { Change, Kept } from '#apiserver/storage/port.ts'

const A_BATCH = 5
const NAMES = 12

/** Each name is written again and again, sometimes it goes; sizes from one page to several. */
export function storedBatch(n: number): readonly Change[] {
  return Array.from({ length: A_BATCH }, (_, i) => {
    const revision = n * A_BATCH + i + 1
    const name = `n${(revision * 7) % NAMES}`
    const goes = revision % 11 === 0
    const text = JSON.stringify({
      metadata: { name, resourceVersion: String(revision) },
      fill: `${revision},`.repeat((revision * 131) % 2_000),
    })
    return {
      resource: '/configmaps',
      namespace: 'default',
      name,
      revision,
      bytes: goes ? undefined : Buffer.from(text),
    }
  })
}

export const revisionAfter = (batches: number): number => batches * A_BATCH

/** What the first batches leave, as text to compare. `skipped` were refused as a whole. */
export function stateAfter(batches: number, skipped: ReadonlySet<number> = new Set()): readonly string[] {
  const state = new Map<string, string>()
  for (let n = 0; n < batches; n++) {
    if (skipped.has(n)) continue
    for (const { name, revision, bytes } of storedBatch(n)) {
      if (bytes === undefined) state.delete(name)
      else state.set(name, `${name} ${revision} ${bytes.toString()}`)
    }
  }
  return [...state.values()].toSorted()
}

export const stateOf = (objects: Iterable<Kept>): readonly string[] =>
  Array.from(objects, (o) => `${o.name} ${o.revision} ${o.bytes.toString()}`).toSorted()
