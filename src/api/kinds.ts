// All kinds of the API in reference order. Code that needs them all (CRDs, docs, lint) takes them from here.
import type { ApiKind } from './kind.ts'
import { approval } from './kinds/approval.ts'
import { cluster } from './kinds/cluster.ts'
import { componentCanary } from './kinds/component-canary.ts'
import { componentConfig } from './kinds/component-config.ts'
import { defenderLedger } from './kinds/defender-ledger.ts'
import { defenderPolicy } from './kinds/defender-policy.ts'
import { fleetBrake } from './kinds/fleet-brake.ts'
import { fleetSource } from './kinds/fleet-source.ts'
import { inventory } from './kinds/inventory.ts'
import { logRequest } from './kinds/log-request.ts'
import { machineComponentSet } from './kinds/machine-component-set.ts'
import { machineComponent } from './kinds/machine-component.ts'
import { machineSet } from './kinds/machine-set.ts'
import { machine } from './kinds/machine.ts'
import { maintenanceEvent } from './kinds/maintenance-event.ts'
import { nodeRemedier } from './kinds/node-remedier.ts'
import { operationPermit } from './kinds/operation-permit.ts'
import { operationalHold } from './kinds/operational-hold.ts'
import { releasePipeline } from './kinds/release-pipeline.ts'
import { release } from './kinds/release.ts'
import { remedyOperationJob } from './kinds/remedy-operation-job.ts'

export const KINDS: readonly ApiKind[] = [
  machine,
  machineSet,
  machineComponent,
  machineComponentSet,
  componentCanary,
  componentConfig,
  nodeRemedier,
  remedyOperationJob,
  logRequest,
  defenderPolicy,
  operationPermit,
  defenderLedger,
  fleetBrake,
  operationalHold,
  approval,
  maintenanceEvent,
  cluster,
  fleetSource,
  releasePipeline,
  release,
  inventory,
]

export const kindNamed = (kind: string): ApiKind | undefined => KINDS.find((k) => k.kind === kind)
