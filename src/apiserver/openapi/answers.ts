// OpenAPI documents; filled in by the second step of this cut.
import type { Answer } from '../handlers/context.ts'

export const openApi = (_o: unknown, _segments: readonly string[]): Answer | undefined => undefined
