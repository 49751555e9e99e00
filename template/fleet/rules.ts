// Limits on disruption, and repairs of faults. What each rule sees, does and costs: docs/concepts/repairs.md of KubeNode.
// Cleaning and restarting is enforced. Whatever drains, reboots or replaces a machine is DryRun: it only shows what it would do. After a week of looking,
// `npx kubenode rules enforce NAME --write` removes the mode of one rule, or do it by hand.
import { DefenderPolicy, NodeRemedier } from 'kubenode/constructs'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import type { Chart } from 'cdk8s'
import { certificateExpiry } from '../rules/certificates/certificate-expiry.ts'
import { crashLooping } from '../rules/component/crash-looping.ts'
import { unwellComponent } from '../rules/component/unwell-component.ts'
import { careful } from '../rules/defender/careful.ts'
import { brokenPart } from '../rules/hardware/broken-part.ts'
import { stuckPart } from '../rules/hardware/stuck-part.ts'
import { wornPart } from '../rules/hardware/worn-part.ts'
import { kernelDeadlock } from '../rules/kernel/kernel-deadlock.ts'
import { rebootRequired } from '../rules/kernel/reboot-required.ts'
import { tasksHung } from '../rules/kernel/tasks-hung.ts'
import { oomStorm } from '../rules/memory/oom-storm.ts'
import { notReady } from '../rules/node/not-ready.ts'
import { runtimeUnhealthy } from '../rules/node/runtime-unhealthy.ts'
import { serviceUnhealthy } from '../rules/node/service-unhealthy.ts'
import { silentNode } from '../rules/node/silent.ts'
import { diskPressure } from '../rules/storage/disk-pressure.ts'
import { diskSpaceLow } from '../rules/storage/disk-space-low.ts'
import { filesystemReadOnly } from '../rules/storage/filesystem-read-only.ts'
import { filesystemStalled } from '../rules/storage/filesystem-stalled.ts'
import { readOnlyFilesystem } from '../rules/storage/read-only-filesystem.ts'
import { clockSkewed } from '../rules/time/clock-skewed.ts'
import versions from './versions.json' with { type: 'json' }

type Rule = NodeRemedierInput['spec']

/** Of your hosts: containerd, crio or docker, and chrony, chronyd or systemd-timesyncd. */
const RUNTIME = 'containerd'
const TIME_SERVICE = 'systemd-timesyncd'

const TAKES_NODE_AWAY = ['cordon', 'drain', 'reboot', 'replace']

/** Without the rungs that take the node away: after the last one left, the node needs manual intervention. Remove the call to have them too. */
const onlyRestarts = (rule: Rule): Rule => ({
  ...rule,
  ladder: rule.ladder.filter((r) => !r.operations.some((o) => TAKES_NODE_AWAY.some((name) => name in o))),
})

const RULES: Readonly<Record<string, Rule>> = {
  'disk-pressure': diskPressure,
  'disk-space-low': diskSpaceLow('DiskSpaceLow'),
  'inodes-low': diskSpaceLow('InodesLow'),
  'disk-filling-up': diskSpaceLow('DiskFillingUp'),
  'certificate-expiry': certificateExpiry('kubelet'),
  'kubelet-unhealthy': onlyRestarts(serviceUnhealthy('KubeletUnhealthy', 'kubelet')),
  'runtime-unhealthy': onlyRestarts(runtimeUnhealthy(RUNTIME)),
  'clock-skewed': onlyRestarts(clockSkewed(TIME_SERVICE)),

  'kernel-deadlock': { ...kernelDeadlock, mode: 'DryRun' },
  'tasks-hung': { ...tasksHung, mode: 'DryRun' },
  'reboot-required': { ...rebootRequired, mode: 'DryRun' },
  'oom-storm': { ...oomStorm, mode: 'DryRun' },
  'crash-looping': { ...crashLooping, mode: 'DryRun' },
  'readonly-filesystem': { ...readOnlyFilesystem('ReadonlyFilesystem'), mode: 'DryRun' },
  'filesystem-read-only': { ...filesystemReadOnly, mode: 'DryRun' },
  'not-ready': { ...notReady, mode: 'DryRun' },
  silent: { ...silentNode, mode: 'DryRun' },
  'filesystem-stalled': { ...filesystemStalled, mode: 'DryRun' },

  // Hardware. Without such parts, nothing sets their conditions.
  'memory-degraded': wornPart('MemoryDegraded'),
  'storage-degraded': wornPart('StorageDegraded'),
  'hardware-alarm': wornPart('HardwareAlarm'),
  'memory-faulty': { ...brokenPart('MemoryFaulty'), mode: 'DryRun' },
  'cpu-faulty': { ...brokenPart('CPUFaulty'), mode: 'DryRun' },
  'disk-failing': { ...brokenPart('DiskFailing'), mode: 'DryRun' },
  'gpu-faulty': { ...brokenPart('GPUFaulty'), mode: 'DryRun' },
  'pcie-faulty': { ...stuckPart('PCIeFaulty'), mode: 'DryRun' },
  'link-faulty': { ...stuckPart('LinkFaulty'), mode: 'DryRun' },
  'gpu-needs-reset': { ...stuckPart('GPUNeedsReset'), mode: 'DryRun' },
  'gpu-needs-reboot': { ...stuckPart('GPUNeedsReboot'), mode: 'DryRun' },
  'fpga-faulty': { ...stuckPart('FPGAFaulty'), mode: 'DryRun' },
  'parts-missing': { ...stuckPart('PartsMissing'), mode: 'DryRun' },
}

/** They come from the distribution, whose units a restart finds too. Declare them as components, and this is not needed. */
const metadata = { annotations: { 'kubenode.io/declared-elsewhere': `kubelet,${RUNTIME},${TIME_SERVICE}` } }

export function declareRules(chart: Chart): void {
  new DefenderPolicy(chart, 'careful', { spec: careful })
  // rules/defender/budget-spent.ts holds new versions for pools whose error budget is spent; declare it here with mode Enforce to switch it on.
  for (const [name, spec] of Object.entries(RULES)) new NodeRemedier(chart, name, { metadata, spec })
  for (const component of Object.keys(versions))
    new NodeRemedier(chart, `unwell-${component}`, { spec: unwellComponent(component) })
}
