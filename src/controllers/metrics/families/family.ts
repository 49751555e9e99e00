// One metric computed from the objects at scrape time: its name, its help text, and a value per label combination.
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly samples: readonly Sample[]
}

/** Distinct label combinations of one family. The largest are kept, and the rest is summed up as `other`. */
const MOST_SAMPLES = 500
export const OTHER = 'other'

/** How often each combination of labels occurs. */
export function tally<T>(
  items: Iterable<T>,
  labelsOf: (item: T) => Readonly<Record<string, string>>,
): readonly Sample[] {
  const counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  for (const item of items) {
    const labels = labelsOf(item)
    const key = Object.values(labels).join('\n')
    const known = counts.get(key)
    if (known === undefined) counts.set(key, { labels, value: 1 })
    else known.value++
  }
  return bounded([...counts.values()])
}

function bounded(samples: readonly Sample[]): readonly Sample[] {
  if (samples.length <= MOST_SAMPLES) return samples
  const sorted = samples.toSorted((a, b) => b.value - a.value)
  const rest = sorted.slice(MOST_SAMPLES - 1)
  const [first] = rest
  if (first === undefined) return sorted
  const labels = Object.fromEntries(Object.keys(first.labels).map((k) => [k, OTHER]))
  return [...sorted.slice(0, MOST_SAMPLES - 1), { labels, value: rest.reduce((sum, s) => sum + s.value, 0) }]
}
