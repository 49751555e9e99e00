// All kinds of the API in the order of the reference. Whoever needs them all (CRDs, docs, lint) takes them from here.
import { machineComponent } from './kinds/machine-component.ts'
import { machineSet } from './kinds/machine-set.ts'
import { machine } from './kinds/machine.ts'
import { operationPermit } from './kinds/operation-permit.ts'
import type { ApiKind } from './kind.ts'

export const KINDS: readonly ApiKind[] = [machine, machineSet, machineComponent, operationPermit]

export const kindNamed = (kind: string): ApiKind | undefined => KINDS.find((k) => k.kind === kind)
