// One-line constructors for counters and gauges of a registry: name, help, labels.
import { Counter, Gauge, type Registry } from 'prom-client'

export const figuresIn = (registry: Registry) => ({
  counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers: [registry] }),
  gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry] }),
})
