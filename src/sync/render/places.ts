// Which fleet line an error names: the line that made the object, as the cage reports it, and the line with its words if that is a different one.
// Untrusted code could influence the report, so only a line in a file of the commit is ever repeated.
import { placesIn } from '#declared/find-in-files.ts'
import { printableLine } from '#lib/printable.ts'

export interface Places {
  /** `fleet/machines/workers.ts:14`, the line with the construct's `new`. */
  readonly madeAt: (object: unknown) => string | undefined
  /** The same, plus the likely origin of the object's value: `fleet/main.ts:9, see fleet/rules.ts:6`. */
  readonly placeOf: (object: unknown, words: readonly string[]) => string | undefined
}

export const NO_PLACES: Places = { madeAt: () => undefined, placeOf: () => undefined }

/** Line limit of the largest file. */
const MAX_LINE = 10_000_000
/** Git paths may be longer than a message. */
const MAX_PLACE_CHARS = 300

export function placesOf(files: Readonly<Record<string, string>>, declaredAt: ReadonlyMap<unknown, unknown>): Places {
  const search = placesIn(files)
  const placeIn = (text: string): string | undefined => {
    const [, path = '', line] = /^(.+):(\d{1,8})$/s.exec(text) ?? []
    const number = Number(line)
    return Object.hasOwn(files, path) && number > 0 && number <= MAX_LINE
      ? printableLine(`${path}:${number}`).slice(0, MAX_PLACE_CHARS)
      : undefined
  }
  /** A loop makes thousands of objects in one line. */
  const known = new Map<string, string | undefined>()
  const madeAt = (object: unknown): string | undefined => {
    const text = shortText(declaredAt.get(object))
    if (!known.has(text)) known.set(text, placeIn(text))
    return known.get(text)
  }
  return {
    madeAt,
    placeOf: (object, words) => {
      const made = madeAt(object)
      const found = words.length === 0 ? undefined : search(words)
      if (made === undefined || found === undefined) return made ?? found
      return found.split(' or ').includes(made) ? made : `${made}, see ${found}`
    },
  }
}

const shortText = (value: unknown): string => (typeof value === 'string' && value.length <= 4_096 ? value : '')
