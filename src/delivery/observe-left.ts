// Reads objects that earlier releases delivered to a cluster and this release no longer has.
import type { KubeObject } from '#api/schema/object.ts'
import type { Live } from './diff.ts'
import { type InventoryRef, refText } from './object-ref.ts'
import { type Reading, readRefs } from './read-kind.ts'
import { releaseLive } from './release-plan.ts'

/** By `refText`. `isOurs` decides for objects without a recorded UID. */
export async function observeLeft(
  reading: Reading,
  source: string,
  left: readonly InventoryRef[],
  isOurs: (object: KubeObject) => boolean,
): Promise<ReadonlyMap<string, Live>> {
  const read = await readRefs(reading, left)
  return new Map(
    left.map((ref) => {
      const object = read.get(refText(ref)) ?? 'Unknown'
      return [refText(ref), typeof object === 'string' ? object : releaseLive(source, ref, object, isOurs)]
    }),
  )
}
