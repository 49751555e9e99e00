// The constructs for fleet/, rules/ and deploy/: one per kind, typed and checked.
import { constructOf } from './construct-of.ts'
import { approval } from '../kinds/approval.ts'
import { cluster } from '../kinds/cluster.ts'
import { componentCanary } from '../kinds/component-canary.ts'
import { componentConfig } from '../kinds/component-config.ts'
import { defenderLedger } from '../kinds/defender-ledger.ts'
import { defenderPolicy } from '../kinds/defender-policy.ts'
import { fleetBrake } from '../kinds/fleet-brake.ts'
import { fleetSource } from '../kinds/fleet-source.ts'
import { inventory } from '../kinds/inventory.ts'
import { machine } from '../kinds/machine.ts'
import { machineComponent } from '../kinds/machine-component.ts'
import { machineComponentSet } from '../kinds/machine-component-set.ts'
import { machineSet } from '../kinds/machine-set.ts'
import { maintenanceEvent } from '../kinds/maintenance-event.ts'
import { nodeRemedier } from '../kinds/node-remedier.ts'
import { operationPermit } from '../kinds/operation-permit.ts'
import { operationalHold } from '../kinds/operational-hold.ts'
import { release } from '../kinds/release.ts'
import { releasePipeline } from '../kinds/release-pipeline.ts'
import { remedyOperationJob } from '../kinds/remedy-operation-job.ts'

export { ClusterChart, HubChart } from './charts.ts'
export { EncryptedSecret, type EncryptedSecretProps } from './encrypted-secret.ts'
export type { ObjectConstruct, ObjectProps } from './construct-of.ts'

export const Machine = constructOf(machine)
export const MachineSet = constructOf(machineSet)
export const MachineComponent = constructOf(machineComponent)
export const MachineComponentSet = constructOf(machineComponentSet)
export const ComponentCanary = constructOf(componentCanary)
export const ComponentConfig = constructOf(componentConfig)
export const NodeRemedier = constructOf(nodeRemedier)
export const RemedyOperationJob = constructOf(remedyOperationJob)
export const DefenderPolicy = constructOf(defenderPolicy)
export const OperationPermit = constructOf(operationPermit)
export const DefenderLedger = constructOf(defenderLedger)
export const FleetBrake = constructOf(fleetBrake)
export const OperationalHold = constructOf(operationalHold)
export const Approval = constructOf(approval)
export const MaintenanceEvent = constructOf(maintenanceEvent)
export const Cluster = constructOf(cluster)
export const FleetSource = constructOf(fleetSource)
export const ReleasePipeline = constructOf(releasePipeline)
export const Release = constructOf(release)
export const Inventory = constructOf(inventory)
