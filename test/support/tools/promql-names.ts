// Which metrics and labels a PromQL expression names, for tests that hold them to what is exported. A reader of tokens, not a parser: enough for our rules.
export interface NamedMetric {
  readonly metric: string
  /** In its own selector. */
  readonly labels: readonly string[]
}

export interface PromqlNames {
  readonly metrics: readonly NamedMetric[]
  /** In by, without, on, ignoring, group_left and group_right. */
  readonly grouped: readonly string[]
}

const WORDS: ReadonlySet<string> = new Set(
  'by without on ignoring group_left group_right and or unless offset bool inf nan start end'.split(' '),
)
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g

export function promqlNames(expr: string): PromqlNames {
  // Texts first: they may contain anything. Then ranges, such as [5m].
  const plain = expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\[[^\]]*\]/g, '')
  const grouped = [...plain.matchAll(GROUPING)].flatMap((m) => namesIn(m[1] ?? ''))
  const without = plain.replaceAll(GROUPING, ' ')
  const metrics: NamedMetric[] = []
  for (const match of without.matchAll(/([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{([^}]*)\}|\()?/g)) {
    const [, metric = '', after = '', selector = ''] = match
    // A function or an aggregation opens a parenthesis; a word of the language is no metric.
    if (after === '(' || WORDS.has(metric.toLowerCase())) continue
    metrics.push({ metric, labels: [...selector.matchAll(/([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)/g)].map((m) => m[1] ?? '') })
  }
  return { metrics, grouped }
}

const namesIn = (list: string): readonly string[] =>
  list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
