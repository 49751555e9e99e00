// Pure: metrics in the Prometheus text format.
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** One value without labels. */
export const single = (type: MetricFamily['type'], name: string, help: string, value: number): MetricFamily => ({
  name,
  help,
  type,
  samples: [{ value }],
})

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

/** "disk/io_time" → "disk_io_time", as OpenCensus does for node-problem-detector. */
export const metricName = (name: string): string => name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, 'key_')

const labelsOf = (labels: Readonly<Record<string, string>> = {}): string => {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const numberOf = (n: number): string => (n === Infinity ? '+Inf' : n === -Infinity ? '-Inf' : String(n))

export const exposition = (families: readonly MetricFamily[]): string =>
  families
    .filter(({ samples }) => samples.length > 0)
    .map(
      ({ name, help, type, samples }) =>
        `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n` +
        samples.map((s) => `${name}${labelsOf(s.labels)} ${numberOf(s.value)}\n`).join(''),
    )
    .join('')
