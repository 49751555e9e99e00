// What the kinds declare and no part of KubeNode serves yet, each with its reason. The table only shrinks: a new field is served from its first day.

/** Marked with `unserved` in the kind, so lint and admission refuse it. */
export const UNSERVED_SPEC = ['NodeRemedier spec.ladder[].verify.probe.name'] as const

/** No part writes them. The folder is the kind's file, and includes everything below it. */
export const UNWRITTEN_STATUS: Readonly<Record<string, string>> = {
  'cluster status.uid': 'the kubeconfig names the cluster',
  'cluster status.lastSeen':
    'it would be a write a minute for each cluster; the condition changes only with the answer',
  'machine-component status': 'no part counts the machines of a version',
  'operational-hold status': 'whether a hold is in force follows from its spec and the time',
  'remedy-operation-job status.nextJob': 'the jobs of a fault are found by their labels',
}

/** Parts of a marked field that are in a constant of their own. */
export const PARTS_OF_UNSERVED = ['cluster addon'] as const

/** Used by way of a type of its own with the same names: the file that names them. */
export const USED_AS: Readonly<Record<string, string>> = {
  'approval spec.of.name': 'src/cli/commands/rollout/approval.ts',
  'component-config spec.secrets.secret': 'src/identity/secrets/secret-values.ts',
  'defender-policy blackout.cron': 'src/permits/windows.ts',
  'defender-policy blackout.from': 'src/permits/windows.ts',
  'defender-policy blackout.duration': 'src/permits/windows.ts',
  'defender-policy blackout.timeZone': 'src/permits/windows.ts',
  'defender-policy blackout.until': 'src/permits/windows.ts',
  'inventory reference.uid': 'src/delivery/inventory.ts',
  'inventory reference.committed.digest': 'src/delivery/inventory.ts',
  'inventory reference.committed.replicas': 'src/api/protocol/committed.ts',
  'inventory spec.appliedAt': 'src/delivery/inventory.ts',
  'inventory spec.pruning.digest': 'src/delivery/inventory.ts',
  'inventory spec.pruning.targets': 'src/delivery/inventory.ts',
  'machine-component-set wantedProps.secretRefs.path': 'src/identity/secrets/secret-values.ts',
  'machine-component-set wantedProps.secretRefs.secret': 'src/identity/secrets/secret-values.ts',
  'machine-component-set sliceProgress.failed': 'src/controllers/componentset/slices/advance.ts',
  'machine-component-set status.coverage.class': 'src/controllers/componentset/status.ts',
  'machine-component-set status.coverage.total': 'src/controllers/componentset/status.ts',
  'component-process hooks.preInstall': 'src/agent/components/switch.ts',
  'component-process hooks.postInstall': 'src/agent/components/switch.ts',
  'component-process hooks.preSwitch': 'src/agent/components/switch.ts',
  'component-process hooks.postSwitch': 'src/agent/components/switch.ts',
  'component-process hooks.uninstall': 'src/agent/components/remove.ts',
  'machine-component props.signatures.value': 'src/api/trust/statement.ts',
  'machine-component props.daemonSet.namespace': 'src/controllers/machine/workloads/observe.ts',
  'machine-component props.daemonSet.name': 'src/controllers/machine/workloads/observe.ts',
  'machine componentStatus.healthyBefore.version': 'src/api/protocol/healthy-before.ts',
  'machine componentStatus.healthyBefore.digest': 'src/api/protocol/healthy-before.ts',
  'machine componentStatus.healthyBefore.config': 'src/api/protocol/healthy-before.ts',
  'machine status.agent.version': 'src/agent/status/machine-status.ts',
  'operations operations.restartComponent': 'src/agent/repair/steps.ts',
  'operations operations.reinstallComponent': 'src/agent/repair/steps.ts',
  'operations operations.webhook': 'src/controllers/remedyjob/steps/do-step.ts',
  'operations operations.reboot.takeOverAfter': 'src/controllers/remedyjob/steps/take-over.ts',
  'node-remedier recent.job': 'src/controllers/remedy/status.ts',
  'node-remedier recent.reason': 'src/controllers/remedy/status.ts',
  'node-remedier recent.waitingFor': 'src/controllers/remedy/status.ts',
}
