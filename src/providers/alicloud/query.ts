// The forms of questions to ECS, and of their failures.
import { KubeNodeError } from '#lib/errors.ts'
import type { CallHow } from '../cloud/call.ts'
import { providersErrors } from '../providers-errors.ts'
import type { EcsAction } from './actions.ts'

type Params = Readonly<Record<string, string>>
/** The answer, or an error. */
export type Ask = (action: EcsAction, params: Params, how?: CallHow) => Promise<unknown>
/** About one instance. */
export type Order = (action: EcsAction, params: Params, how?: CallHow) => Promise<'Ordered' | 'Missing'>

export const unreadable = (action: string, place: string, what: string): KubeNodeError =>
  new KubeNodeError(providersErrors.KN11046({ action, place, what }), { retry: 'later' })
