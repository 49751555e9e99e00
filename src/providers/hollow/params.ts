// A hollow host's behavior, declared in `Machine.spec.provider.params`: failing versions, slow fetching, silence, false reports, a kubelet. Pure.
import { durationMs } from '#lib/duration.ts'

export interface HollowParams {
  /** `component@version` each. */
  readonly fails: ReadonlySet<string>
  readonly crashes: ReadonlySet<string>
  /** Reports these as running while it runs others. */
  readonly lies: ReadonlySet<string>
  readonly stageMs: number
  readonly isSilent: boolean
  /** Another program owns its Node and the Node's heartbeat. */
  readonly hasKubelet: boolean
}

export type ParsedParams =
  | { readonly kind: 'Params'; readonly params: HollowParams }
  | { readonly kind: 'Refused'; readonly reason: string }

const KNOWN: ReadonlySet<string> = new Set(['fails', 'crashes', 'lies', 'stage', 'silent', 'kubelet'])
const VERSION = /^[a-z0-9][-a-z0-9.]*@[^@,\s]+$/

export function parseParams(params: Readonly<Record<string, string>>): ParsedParams {
  const refused = (name: string, how: string): ParsedParams => ({
    kind: 'Refused',
    reason: `parameter ${name} of a hollow host ${how}`,
  })
  const unknown = Object.keys(params).find((name) => !KNOWN.has(name))
  if (unknown !== undefined) return refused(unknown, `is unknown; known parameters: ${[...KNOWN].join(', ')}`)
  for (const name of ['fails', 'crashes', 'lies'])
    if (listOf(params[name]).some((v) => !VERSION.test(v))) return refused(name, 'must list component@version')
  const stageMs = durationMs(params['stage'] ?? '0s')
  if (stageMs === undefined) return refused('stage', 'must be a duration such as 200ms')
  for (const name of ['silent', 'kubelet'])
    if (!['true', 'false', undefined].includes(params[name])) return refused(name, 'must be true or false')
  return {
    kind: 'Params',
    params: {
      fails: new Set(listOf(params['fails'])),
      crashes: new Set(listOf(params['crashes'])),
      lies: new Set(listOf(params['lies'])),
      stageMs,
      isSilent: params['silent'] === 'true',
      hasKubelet: params['kubelet'] === 'true',
    },
  }
}

const listOf = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((v) => v.trim())
    .filter((v) => v !== '')
