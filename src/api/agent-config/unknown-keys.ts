// Reports keys of agent.json that nothing reads, with the likely intended key and the known ones: a typo would otherwise seem to be a setting.
import { didYouMean } from '#lib/did-you-mean.ts'

/** `path` is the object's place, such as `logs[0]`; empty for the whole file. */
export function unknownKeys(path: string, object: object, known: readonly string[]): readonly string[] {
  return Object.keys(object)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = didYouMean(key, known)
      const hint = near === undefined ? '' : ` (did you mean ${near}?)`
      return `${path === '' ? key : `${path}.${key}`} is not a known key${hint}; use ${known.join(', ')}`
    })
}
