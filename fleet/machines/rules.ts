// The rules of each cluster: limits on disruption, and repairs of faults.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { DefenderPolicy, NodeRemedier, type ClusterChart } from 'kubenode/constructs'
import { certificateExpiry } from '../../rules/certificates/certificate-expiry.ts'
import { crashLooping } from '../../rules/component/crash-looping.ts'
import { logProblem } from '../../rules/component/log-problem.ts'
import { unwellComponent } from '../../rules/component/unwell-component.ts'
// Not declared here: rules/defender/budget-spent.ts, which holds new versions for pools whose error budget is spent.
import { careful } from '../../rules/defender/careful.ts'
import { brokenPart } from '../../rules/hardware/broken-part.ts'
import { stuckPart } from '../../rules/hardware/stuck-part.ts'
import { wornPart } from '../../rules/hardware/worn-part.ts'
import { kernelDeadlock } from '../../rules/kernel/kernel-deadlock.ts'
import { rebootRequired } from '../../rules/kernel/reboot-required.ts'
import { tasksHung } from '../../rules/kernel/tasks-hung.ts'
import { oomStorm } from '../../rules/memory/oom-storm.ts'
import { notReady } from '../../rules/node/not-ready.ts'
import { runtimeUnhealthy } from '../../rules/node/runtime-unhealthy.ts'
import { serviceUnhealthy } from '../../rules/node/service-unhealthy.ts'
import { silentNode } from '../../rules/node/silent.ts'
import { diskPressure } from '../../rules/storage/disk-pressure.ts'
import { diskSpaceLow } from '../../rules/storage/disk-space-low.ts'
import { filesystemReadOnly } from '../../rules/storage/filesystem-read-only.ts'
import { filesystemStalled } from '../../rules/storage/filesystem-stalled.ts'
import { readOnlyFilesystem } from '../../rules/storage/read-only-filesystem.ts'
import { clockSkewed } from '../../rules/time/clock-skewed.ts'
import type { FleetCluster } from '../clusters/clusters.ts'
import hostVersions from '../clusters/host-versions.json' with { type: 'json' }
import versions from '../clusters/versions.json' with { type: 'json' }
import enforced from './enforced.json' with { type: 'json' }

type Rule = NodeRemedierInput['spec']

/** A tenth of three machines is none at all: so small a fleet is allowed a larger share. */
const few: DefenderPolicyInput['spec'] = {
  ...careful,
  budgets: [{ max: '50%', of: 'unavailable' }],
  healthFloor: '50%',
}

/** Repairs that end in a drain, a reboot or another machine: the last stage shows first what it would do. */
const OF_MACHINES: Readonly<Record<string, Rule>> = {
  'kernel-deadlock': kernelDeadlock,
  'tasks-hung': tasksHung,
  'reboot-required': rebootRequired,
  silent: silentNode,
  'not-ready': notReady,
  'oom-storm': oomStorm,
  'readonly-filesystem': readOnlyFilesystem('ReadonlyFilesystem'),
  'filesystem-read-only': filesystemReadOnly,
  'clock-skewed': clockSkewed('chrony'),
  'crash-looping': crashLooping,
  'kubelet-unhealthy': serviceUnhealthy('KubeletUnhealthy', 'kubelet'),
  'runtime-unhealthy': runtimeUnhealthy('containerd'),
  'filesystem-stalled': filesystemStalled,
  'memory-faulty': brokenPart('MemoryFaulty'),
  'cpu-faulty': brokenPart('CPUFaulty'),
  'disk-failing': brokenPart('DiskFailing'),
  'gpu-faulty': brokenPart('GPUFaulty'),
  'pcie-faulty': stuckPart('PCIeFaulty'),
  'link-faulty': stuckPart('LinkFaulty'),
  'gpu-needs-reset': stuckPart('GPUNeedsReset'),
  'gpu-needs-reboot': stuckPart('GPUNeedsReboot'),
  'fpga-faulty': stuckPart('FPGAFaulty'),
  'parts-missing': stuckPart('PartsMissing'),
}

/** Repairs that take nothing away from pods. */
const OF_SERVICES: Readonly<Record<string, Rule>> = {
  'disk-pressure': diskPressure,
  'disk-space-low': diskSpaceLow('DiskSpaceLow'),
  'inodes-low': diskSpaceLow('InodesLow'),
  'disk-filling-up': diskSpaceLow('DiskFillingUp'),
  'certificate-expiry': certificateExpiry('kubelet'),
  'memory-degraded': wornPart('MemoryDegraded'),
  'storage-degraded': wornPart('StorageDegraded'),
  'hardware-alarm': wornPart('HardwareAlarm'),
}

/** On machines that have them, kubelet and chrony come with the image of the host; where they do not, no condition of theirs is ever set. */
const metadata = { annotations: { 'kubenode.io/declared-elsewhere': 'kubelet,chrony' } }

export function declareRules(chart: ClusterChart, { stage }: FleetCluster): void {
  new DefenderPolicy(chart, 'careful', { spec: few })
  // `kubenode rules enforce NAME --stage prod` adds a rule to the list.
  const isEnforced = (name: string): boolean => stage !== 'prod' || (enforced.prod as readonly string[]).includes(name)
  for (const [name, spec] of Object.entries(OF_MACHINES))
    new NodeRemedier(chart, name, { metadata, spec: { ...spec, mode: isEnforced(name) ? 'Enforce' : 'DryRun' } })
  for (const [name, spec] of Object.entries(OF_SERVICES)) new NodeRemedier(chart, name, { metadata, spec })
  for (const component of Object.keys(hostVersions))
    new NodeRemedier(chart, `unwell-${component}`, { spec: unwellComponent(component) })
  for (const component of Object.keys(versions)) {
    new NodeRemedier(chart, `unwell-${component}`, { spec: unwellComponent(component) })
    // The condition is set by a log rule of the agents; where they have none, nothing is ever known and nothing done.
    new NodeRemedier(chart, `log-problem-${component}`, { spec: logProblem(`LogProblem-${component}`, component) })
  }
}
