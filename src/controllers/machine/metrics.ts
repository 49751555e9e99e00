// Metrics of the machine controller that cannot be read from any object.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ProviderMeter } from '#providers/metered.ts'

/** Provider hosts without a Machine, by provider. The controller is created once per term, but the registry lives as long as the process. */
export function orphanGauge(registry: Registry): (provider: string, orphans: number) => void {
  const name = 'kubenode_orphan_hosts'
  const known = registry.getSingleMetric(name)
  const gauge =
    known instanceof Gauge
      ? known
      : new Gauge({ name, help: 'Hosts without a Machine.', labelNames: ['provider'], registers: [registry] })
  return (provider, orphans) => gauge.set({ provider }, orphans)
}

/** Calls to providers. Counts restart with each leadership term. */
export function providerMeter(registry: Registry): ProviderMeter {
  for (const name of ['kubenode_provider_calls_total', 'kubenode_provider_throttled_seconds_total'])
    registry.removeSingleMetric(name)
  const calls = new Counter({
    name: 'kubenode_provider_calls_total',
    help: 'Calls to infra providers by action and answer; Error where it could not be reached or understood.',
    labelNames: ['provider', 'action', 'code'],
    registers: [registry],
  })
  const throttled = new Counter({
    name: 'kubenode_provider_throttled_seconds_total',
    help: 'Time that a provider asked us to wait before the next request for a host.',
    labelNames: ['provider'],
    registers: [registry],
  })
  return {
    called: (provider, action, code) => calls.inc({ provider, action, code }),
    throttled: (provider, ms) => throttled.inc({ provider }, ms / 1_000),
  }
}
