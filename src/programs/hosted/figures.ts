// Metrics of hosted programs: how many Clusters and processes a replica has, and what they use. Set after each pass.
import { figuresIn } from '#runtime/figures.ts'
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import type { Usage } from './usage.ts'

export interface HostReport {
  readonly clusters: number
  readonly refused: number
  /** Of each process that runs. */
  readonly usage: readonly Usage[]
}

export function figuresOfHost({ registry }: Pick<RuntimeMetrics, 'registry'>): (report: HostReport) => void {
  const { gauge } = figuresIn(registry)
  const clusters = gauge('kubenode_hosted_clusters', 'Clusters that this replica runs the program for.')
  const refused = gauge('kubenode_hosted_clusters_refused', 'Clusters of this replica without a usable kubeconfig.')
  const processes = gauge('kubenode_hosted_processes', 'Processes that run the program.')
  const resident = gauge('kubenode_hosted_resident_bytes', 'Memory of these processes.')
  const cpu = gauge('kubenode_hosted_cpu_seconds', 'Processor time of these processes since each started.')
  return (report) => {
    clusters.set(report.clusters)
    refused.set(report.refused)
    processes.set(report.usage.length)
    resident.set(report.usage.reduce((sum, { residentBytes }) => sum + residentBytes, 0))
    cpu.set(report.usage.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0))
  }
}
