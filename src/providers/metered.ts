// A provider whose calls are counted: by action and answer, with the time that it asked us to wait. Everything else is the provider's own.
import type { Provider } from './port.ts'

export interface ProviderMeter {
  called(provider: string, action: string, code: string): void
  throttled(provider: string, ms: number): void
}

const COUNTED: ReadonlySet<string | symbol> = new Set([
  'create',
  'get',
  'list',
  'tagged',
  'delete',
  'reboot',
  'power',
  'maintenance',
  'respond',
  'reportFault',
])

/** Abilities of a provider in another program become known, and change, at run time: each is looked up when it is asked for. */
export const metered = (provider: Provider, meter: ProviderMeter): Provider =>
  new Proxy(provider, {
    get: (target, key): unknown => {
      const found: unknown = Reflect.get(target, key, target)
      if (typeof found !== 'function') return found
      const call = found.bind(target) as (...args: readonly unknown[]) => Promise<unknown>
      return COUNTED.has(key) ? counted(target.name, String(key), call, meter) : call
    },
  })

const counted =
  (name: string, action: string, call: (...args: readonly unknown[]) => Promise<unknown>, meter: ProviderMeter) =>
  async (...args: readonly unknown[]): Promise<unknown> => {
    try {
      const answer = await call(...args)
      meter.called(name, action, codeOf(answer))
      if (isThrottled(answer)) meter.throttled(name, answer.retryAfterMs)
      return answer
    } catch (e) {
      meter.called(name, action, 'Error')
      throw e
    }
  }

/** A word as the answer, such as Deleted; the kind of a create; otherwise it was answered. */
function codeOf(answer: unknown): string {
  if (typeof answer === 'string') return answer
  const kind = typeof answer === 'object' && answer !== null && 'kind' in answer ? answer.kind : undefined
  return typeof kind === 'string' ? kind : 'OK'
}

const isThrottled = (answer: unknown): answer is { readonly retryAfterMs: number } =>
  codeOf(answer) === 'Throttled' && typeof (answer as { retryAfterMs?: unknown }).retryAfterMs === 'number'
