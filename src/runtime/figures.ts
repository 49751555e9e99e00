// Counters and gauges of one registry, each made in a line: name, help, labels.
import { Counter, Gauge, type Registry } from 'prom-client'

export const figuresIn = (registry: Registry) => ({
  counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers: [registry] }),
  gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry] }),
})
