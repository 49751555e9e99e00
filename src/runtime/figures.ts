// One-line constructors for counters, gauges and histograms of a registry: name, help, labels.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export const figuresIn = (registry: Registry) => ({
  counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers: [registry] }),
  gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry] }),
})

export interface LabelledValue {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Figures that only a leader reports: a new term of leadership starts with new counts. */
export const termFiguresIn = (registry: Registry) => {
  const { counter } = figuresIn(registry)
  return {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> => {
      registry.removeSingleMetric(name)
      return counter(name, help, ...labelNames)
    },
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: number[],
      ...labelNames: Label[]
    ): Histogram<Label> => {
      registry.removeSingleMetric(name)
      return new Histogram({ name, help, labelNames, buckets, registers: [registry] })
    },
    /** Read at scrape time from sums that are kept elsewhere. */
    sums: (name: string, help: string, labelNames: string[], read: () => readonly LabelledValue[]): void => {
      registry.removeSingleMetric(name)
      registry.registerMetric(
        new Counter({
          name,
          help,
          labelNames,
          registers: [],
          collect() {
            this.reset()
            for (const { labels, value } of read()) this.inc({ ...labels }, value)
          },
        }),
      )
    },
  }
}
