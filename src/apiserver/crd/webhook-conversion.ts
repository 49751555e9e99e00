// One served version of a kind whose versions are converted by a webhook: caches converted objects, so
// that reading them need not wait.
import type { KubeObject } from '#api/schema/object.ts'
import type { Conversion } from '../registry/served.ts'
import { internalError } from '../status/refusal.ts'
import type { Stored } from '../storage/stored.ts'
import type { ConversionWebhook, Convert } from './webhook-converter.ts'

export interface ConvertedVersion {
  readonly webhook: ConversionWebhook
  readonly convert: Convert
  readonly apiVersion: string
  readonly storageVersion: string
  /** With the defaults of the version that it is stored in. */
  readonly defaulted: (stored: KubeObject) => KubeObject
  /** Prunes the webhook's result. */
  readonly finished: (converted: KubeObject) => KubeObject
}

export function webhookConversion({
  webhook,
  convert,
  apiVersion,
  storageVersion,
  defaulted,
  finished,
}: ConvertedVersion): Conversion {
  // valid for this stored version of the object, and for this definition
  const known = new WeakMap<Stored, KubeObject>()
  const to = async (desired: string, objects: readonly KubeObject[]): Promise<readonly KubeObject[]> => {
    // a definition that changed its storage version has objects of several versions
    const others = objects.filter((o) => o.apiVersion !== desired)
    if (others.length === 0) return objects
    const converted = new Map<KubeObject, KubeObject>()
    for (const group of Map.groupBy(others, (o) => o.apiVersion).values())
      for (const [i, o] of (await convert(webhook, desired, group)).entries()) {
        const before = group[i]
        if (before !== undefined) converted.set(before, o)
      }
    return objects.map((o) => converted.get(o) ?? o)
  }
  // many watchers of one change share one call
  const asking = new WeakMap<Stored, Promise<void>>()
  const ask = async (objects: readonly Stored[]): Promise<void> => {
    try {
      const values = await to(
        apiVersion,
        objects.map((s) => defaulted(s.value)),
      )
      for (const [i, s] of objects.entries()) {
        const value = values[i]
        if (value !== undefined) known.set(s, finished(value))
      }
    } finally {
      for (const s of objects) asking.delete(s)
    }
  }
  return {
    missing: (objects) => Array.from(objects).filter((s) => !known.has(s)),
    async prepare(objects) {
      const fresh = objects.filter((s) => !known.has(s) && !asking.has(s))
      if (fresh.length > 0) {
        const work = ask(fresh)
        for (const s of fresh) asking.set(s, work)
      }
      await Promise.all(new Set(objects.map((s) => asking.get(s)).filter((work) => work !== undefined)))
    },
    copied(copy, of) {
      const value = known.get(of)
      if (value === undefined) return
      const metadata = { ...value.metadata, resourceVersion: String(copy.revision) }
      known.set(copy, { ...value, metadata })
    },
    view(stored) {
      const value = known.get(stored)
      if (value === undefined) throw internalError('an object was not converted in time')
      return value
    },
    fromVersion: async (object) => finished((await to(apiVersion, [defaulted(object)]))[0] ?? object),
    toStorage: async (object) => (await to(storageVersion, [object]))[0] ?? object,
  }
}

/** Resolves when all of them are converted; checks again, since new ones may have arrived meanwhile. */
export async function convertAll(conversion: Conversion | undefined, objects: () => Iterable<Stored>): Promise<void> {
  if (conversion === undefined) return
  for (let missing = conversion.missing(objects()); missing.length > 0; missing = conversion.missing(objects()))
    await conversion.prepare(missing)
}
