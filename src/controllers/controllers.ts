// All controllers of a business cluster, each once. A new one is added here and nowhere else.
import { machineModule } from './machine/reconcile.ts'
import { machineSetModule } from './machineset/reconcile.ts'
import type { ControllerModule } from './module.ts'

export const CONTROLLERS: readonly ControllerModule[] = [machineModule, machineSetModule]
