// When the rule for devices that are stuck reboots, and when it must not act.
import { partCases } from './broken-part.cases.ts'
import { stuckPart } from './stuck-part.ts'

export const rule = stuckPart('GPUNeedsReset')

export const cases = partCases('GPUNeedsReset')
