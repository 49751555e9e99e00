// Limits on disruption, and repairs of faults.
import { DefenderPolicy, NodeRemedier } from 'kubenode/constructs'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import type { Chart } from 'cdk8s'
import { certificateExpiry } from '../rules/certificates/certificate-expiry.ts'
import { unwellComponent } from '../rules/component/unwell-component.ts'
import { careful } from '../rules/defender/careful.ts'
import { kernelDeadlock } from '../rules/kernel/kernel-deadlock.ts'
import { notReady } from '../rules/node/not-ready.ts'
import { runtimeUnhealthy } from '../rules/node/runtime-unhealthy.ts'
import { serviceUnhealthy } from '../rules/node/service-unhealthy.ts'
import { diskSpaceLow } from '../rules/storage/disk-space-low.ts'
import { readOnlyFilesystem } from '../rules/storage/read-only-filesystem.ts'
import versions from './versions.json' with { type: 'json' }

type Rule = NodeRemedierInput['spec']

/** They clean a disk or restart a component, and take nothing away from pods. */
const ENFORCED: Readonly<Record<string, Rule>> = {
  'disk-space-low': diskSpaceLow('DiskSpaceLow'),
  'inodes-low': diskSpaceLow('InodesLow'),
  'certificate-expiry': certificateExpiry('kubelet'),
}

/** They drain, reboot or replace machines in service, so they only show what they would do. Move one up when you agree. */
const DRY_RUN: Readonly<Record<string, Rule>> = {
  'kernel-deadlock': kernelDeadlock,
  'readonly-filesystem': readOnlyFilesystem('ReadonlyFilesystem'),
  'kubelet-unhealthy': serviceUnhealthy('KubeletUnhealthy', 'kubelet'),
  'runtime-unhealthy': runtimeUnhealthy('containerd'),
  'not-ready': notReady,
}

/** Kubelet and container runtime come from the distribution, whose units a restart finds too. Declare them as components, and this is not needed. */
const metadata = { annotations: { 'kubenode.io/declared-elsewhere': 'kubelet,containerd' } }

export function declareRules(chart: Chart): void {
  new DefenderPolicy(chart, 'careful', { spec: careful })
  // rules/defender/budget-spent.ts holds new versions for pools whose error budget is spent; declare it here with mode Enforce to switch it on.
  for (const [name, spec] of Object.entries(ENFORCED)) new NodeRemedier(chart, name, { metadata, spec })
  for (const [name, spec] of Object.entries(DRY_RUN))
    new NodeRemedier(chart, name, { metadata, spec: { ...spec, mode: 'DryRun' } })
  for (const component of Object.keys(versions))
    new NodeRemedier(chart, `unwell-${component}`, { spec: unwellComponent(component) })
}
