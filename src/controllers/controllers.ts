// All controllers of a business cluster, each once. A new one is added here and nowhere else.
import { canaryModule } from './canary/reconcile.ts'
import { componentSetModule } from './componentset/reconcile.ts'
import { hostDoctorModule } from './hostdoctor/reconcile.ts'
import { machineModule } from './machine/reconcile.ts'
import { machineSetModule } from './machineset/reconcile.ts'
import type { ControllerModule } from './module.ts'
import { logModule } from './log/reconcile.ts'
import { stateModule } from './metrics/state.ts'
import { remedyModule } from './remedy/reconcile.ts'
import { remedyJobModule } from './remedyjob/reconcile.ts'

export const CONTROLLERS: readonly ControllerModule[] = [
  machineModule,
  machineSetModule,
  componentSetModule,
  canaryModule,
  remedyModule,
  remedyJobModule,
  hostDoctorModule,
  logModule,
  stateModule,
]
