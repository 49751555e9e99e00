// Metrics of the machine controller that cannot be read from any object.
import { Gauge, type Registry } from 'prom-client'

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
