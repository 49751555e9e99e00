// The forms of questions to EC2, and of their failures.
import { KubeNodeError } from '#lib/errors.ts'
import type { CallHow } from '../cloud/call.ts'
import { providersErrors } from '../providers-errors.ts'
import type { Ec2Action } from './actions.ts'
import type { Xml } from './xml.ts'

export type Params = Readonly<Record<string, string>>
/** The answer below its root, or an error. */
export type Ask = (action: Ec2Action, params: Params, how?: CallHow) => Promise<Xml>
/** About one instance. */
export type Order = (action: Ec2Action, params: Params, how?: CallHow) => Promise<'Ordered' | 'Missing'>

export const unreadable = (action: string, what: string): KubeNodeError =>
  new KubeNodeError(providersErrors.KN11046({ action, place: 'AWS', what }), { retry: 'later' })

export const filters = (of: readonly (readonly [string, readonly string[]])[]): Params =>
  Object.fromEntries(
    of.flatMap(([name, values], i) => [
      [`Filter.${i + 1}.Name`, name],
      ...values.map((value, k) => [`Filter.${i + 1}.Value.${k + 1}`, value]),
    ]),
  ) as Params
