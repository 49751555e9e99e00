// When the rule for GPUs that a script can reset acts, and when it must not.
import { partCases } from './broken-part.cases.ts'
import { resetDevice } from './reset-device.ts'

export const rule = resetDevice({ component: 'gpu-reset', version: '1.0.0' })

export const cases = partCases('GPUNeedsReset')
